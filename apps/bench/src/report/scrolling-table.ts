/** A table that may be wider than the page: it scrolls by itself, by the keyboard too, and its caption is its name for screen readers. */

import { type Content, type Html, html } from './html.ts'

/** `id` is unique on the page, and so is what the caption says. */
export function scrollingTable(id: string, caption: Content, rows: Html): Html {
  return html`<div class="scroll" role="region" aria-labelledby="${id}" tabindex="0">
<table>
<caption id="${id}">${caption}</caption>
${rows}
</table>
</div>`
}

/** Behind the caption of one that does not fit a telephone. */
export const MORE = html`<span class="more"> · more to the right →</span>`
