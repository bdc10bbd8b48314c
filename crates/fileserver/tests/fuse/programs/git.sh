git init -q . && git config user.email a@b.c && git config user.name n
for n in $(seq 60); do mkdir -p "d$n"; echo "$n" > "d$n/f"; done
git add . && git commit -qm one && git checkout -qb side && echo x > d1/f
git commit -qam two && git checkout -q - && cat d1/f && git merge -q side && cat d1/f
git gc -q && git fsck && git status --porcelain && git log --oneline | wc -l
git clone -q . copy && cat copy/d60/f
