"""A database, a mapped file and many small ones, in the directory that this runs in. Touches nothing else."""
import mmap
import os
import sqlite3

base = sqlite3.connect("base.db")
base.execute("pragma journal_mode = wal")
base.execute("create table t (n integer, s text)")
for n in range(500):
    base.execute("insert into t values (?, ?)", (n, "x" * n))
    if n % 100 == 0:
        base.commit()
base.commit()
other = sqlite3.connect("base.db")
print(other.execute("select count(*), sum(length(s)) from t").fetchone())
print(other.execute("pragma integrity_check").fetchone()[0])
with open("mapped", "w+b") as file:
    file.truncate(10000)
    with mmap.mmap(file.fileno(), 10000) as memory:
        memory[5000:5005] = b"hello"
        memory.flush()
print(open("mapped", "rb").read()[5000:5005])
for n in range(300):
    open(f"many{n}", "w").write(str(n))
print(len([one for one in os.scandir(".") if one.name.startswith("many")]))
