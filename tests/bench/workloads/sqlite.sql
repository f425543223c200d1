-- An order book of (select n from size) rows: inserts with a trigger, indexes,
-- joins, grouping, text functions and JSON.  Some 20 events a row.
create table customer(id integer primary key, name text, city text);
create table booking(id integer primary key, customer integer, item text,
  price integer, note text);
create table total(customer integer primary key, sum integer);
create trigger sums after insert on booking begin
  insert into total values(new.customer, new.price)
    on conflict(customer) do update set sum = sum + new.price;
end;
with recursive n(i) as
  (select 1 union all select i + 1 from n where i < (select n / 20 from size))
  insert into customer
    select i, 'customer ' || i, 'city ' || (i * 7919 % 257) from n;
with recursive n(i) as
  (select 1 union all select i + 1 from n where i < (select n from size))
  insert into booking
    select i, 1 + i * 2654435761 % (select n / 20 from size),
      printf('item %06x', i * 48271 % 9973), i % 1009,
      hex(i * 69621 % 2147483647) || upper(substr('a note about it', i % 7 + 1))
    from n;
create index booking_item on booking(item);
create index booking_customer on booking(customer, price);
select city, count(*), length(group_concat(item)) from booking
  join customer on customer.id = booking.customer
  group by city order by 2 desc, 1 limit 3;
select item, max(note) from booking group by item having count(*) > 3
  order by 2 limit 3;
update booking set note = replace(note, 'NOTE', item) || price where id % 3 = 0;
select count(*), sum(length(json_object('id', id, 'item', item, 'note', note)))
  from booking where id % 4 = 0;
select count(distinct substr(note, 1, 5)) from booking where note like '%item%';
delete from booking where customer % 5 = 0;
select count(*), sum(sum) from total;
