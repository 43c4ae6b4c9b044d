/**
 * A `<picture>` for a light and a dark page follows the reader's system on GitHub. On the site it follows the switch of the page: both
 * images are there, and the style hides one. A picture may scroll, so the keyboard reaches it.
 */

import type { MarkdownRenderer } from 'vitepress'

export function diagrams(md: MarkdownRenderer): void {
  md.core.ruler.push('diagrams', ({ tokens }) => {
    for (const token of tokens) {
      const [, dark, light, rest] =
        token.content.match(
          /^<picture>\s*<source [^>]*srcset="([^"]*)">\s*<img src="([^"]*)"([^>]*)>\s*<\/picture>\s*$/,
        ) ?? []
      if (token.type !== 'html_block' || dark === undefined) continue
      const image = (scheme: string, src = '') => `<img class="on-${scheme}" loading="lazy" src="${src}"${rest}>`
      token.content = `<p class="diagram" tabindex="0">${image('light', light)}${image('dark', dark)}</p>\n`
    }
  })
}

export function pictures(md: MarkdownRenderer): void {
  md.core.ruler.push('pictures', ({ tokens }) => {
    for (const [index, { type, children }] of tokens.entries()) {
      const paragraph = tokens[index - 1]
      if (type !== 'inline' || paragraph?.type !== 'paragraph_open') continue
      if (children?.length !== 1 || children[0]?.type !== 'image') continue
      paragraph.attrSet('class', 'picture')
      paragraph.attrSet('tabindex', '0')
    }
  })
}
