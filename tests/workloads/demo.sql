-- A few hundred thousand allocations: inserts, an index, joins, group_concat.
create table part(id integer primary key, name text, kind text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 40000)
  insert into part select i, hex(randomblob(12)), 'kind ' || (i % 311) from n;
create index part_kind on part(kind);
select kind, count(*), length(group_concat(name)) from part
  group by kind order by 2 desc limit 3;
update part set name = name || kind where id % 3 = 0;
select count(*) from part a join part b on a.kind = b.kind where a.id < 900;
select sum(length(name)) from part;
