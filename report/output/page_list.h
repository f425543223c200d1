/* One line per page.  No include guard: the includer defines PAGE(id). */
PAGE(html)
PAGE(markdown)
