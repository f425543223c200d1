/* SPDX-License-Identifier: MIT */
#include "report/output/html/html_writer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <libxml/uri.h>
#include <libxml/xmlwriter.h>

#include "report/core/diag.h"
#include "report/core/sink.h"

static const xmlChar *as_xml(const char *text)
{
	return (const xmlChar *)text;
}

/* The sink keeps its first error; libxml2 would print one of its own. */
static int sink_write_bytes(void *context, const char *data, int len)
{
	sink_write(context, data, (size_t)len);
	return len;
}

static void check(struct html *html, int result)
{
	if (result < 0)
		html->failed = true;
}

int html_init(struct html *html, struct sink *out, struct diag *diag)
{
	xmlOutputBufferPtr buffer;

	html->failed = false;
	html->writer = NULL;
	buffer = xmlOutputBufferCreateIO(sink_write_bytes, NULL, out, NULL);
	if (buffer)
		html->writer = xmlNewTextWriter(buffer);
	if (html->writer)
		return 0;
	if (buffer)
		xmlOutputBufferClose(buffer);
	return diag_set(diag, -ENOMEM, NULL, DIAG_NO_OFFSET, "out of memory");
}

int html_done(struct html *html, struct diag *diag)
{
	check(html, xmlTextWriterFlush(html->writer));
	xmlFreeTextWriter(html->writer);
	html->writer = NULL;
	if (html->failed)
		return diag_set(diag, -EIO, NULL, DIAG_NO_OFFSET,
				"HTML could not be written");
	return 0;
}

void html_open(struct html *html, const char *element, const char *class)
{
	check(html, xmlTextWriterStartElement(html->writer, as_xml(element)));
	if (class)
		html_attr(html, "class", class);
}

void html_close(struct html *html)
{
	check(html, xmlTextWriterFullEndElement(html->writer));
}

void html_close_void(struct html *html)
{
	check(html, xmlTextWriterEndElement(html->writer));
}

void html_attr(struct html *html, const char *name, const char *value)
{
	check(html, xmlTextWriterWriteAttribute(html->writer, as_xml(name),
						as_xml(value)));
}

void html_href(struct html *html, const char *path)
{
	xmlChar *escaped = xmlURIEscapeStr(as_xml(path), as_xml("/"));

	if (escaped)
		html_attr(html, "href", (const char *)escaped);
	else
		html->failed = true;
	xmlFree(escaped);
}

void html_attr_printf(struct html *html, const char *name, const char *format,
		      ...)
{
	char value[512];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(value, sizeof(value), format, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof(value))
		html->failed = true;
	else
		html_attr(html, name, value);
}

void html_text(struct html *html, const char *text)
{
	check(html, xmlTextWriterWriteString(html->writer, as_xml(text)));
}

void html_element(struct html *html, const char *element, const char *class,
		  const char *text)
{
	html_open(html, element, class);
	html_text(html, text);
	html_close(html);
}

void html_break(struct html *html)
{
	check(html, xmlTextWriterWriteRaw(html->writer, as_xml("\n")));
}

void html_raw(struct html *html, const char *markup)
{
	check(html, xmlTextWriterWriteRaw(html->writer, as_xml(markup)));
}
