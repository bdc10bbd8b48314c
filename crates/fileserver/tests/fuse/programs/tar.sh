mkdir -p t/a/b && ln -s a/b t/l && echo text > t/a/b/f && ln t/a/b/f t/a/h && chmod 751 t/a
touch -d @-5.25 t/a/b && truncate -s 1M t/hole && chown -h 1000:1001 t/l t/a/b/f
tar -cf t.tar -C t . && mkdir u && tar -xpf t.tar -C u && diff -r t u
cd u && stat -c '%n %f %u %g %h %s' a/h l hole && stat -c '%n %a %Y' a a/b | sed 's/ [0-9]\{10\}$/ now/'
