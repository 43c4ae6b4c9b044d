/**
 * A `<picture>` for light and dark pages, and for phones, follows the reader's system on GitHub. On the site it follows the switch of the
 * page: an image for each colour scheme is there, and the style hides one. A diagram may scroll, so the keyboard reaches it.
 */

import type { MarkdownRenderer } from 'vitepress'

/** The addresses of one colour scheme. */
interface Drawn {
  readonly src: string
  /** For a phone. A diagram without one is wider than a phone, and scrolls. */
  readonly narrow: string | undefined
}

export function diagrams(md: MarkdownRenderer): void {
  md.core.ruler.push('diagrams', ({ tokens }) => {
    for (const token of tokens) {
      if (token.type !== 'html_block') continue
      const [, inside = '', light, rest = ''] =
        token.content.match(/^<picture>(.*)<img src="([^"]*)"([^>]*)>\s*<\/picture>\s*$/s) ?? []
      if (light === undefined) continue
      const source = (media: string): string | undefined =>
        inside.match(`<source media="${media.replace(/[()]/g, '\\$&')}" srcset="([^"]*)">`)?.[1]
      const narrowLight = source(PHONE)
      const forLight = { src: light, narrow: narrowLight }
      const forDark = { src: source(DARK) ?? light, narrow: source(`${PHONE} and ${DARK}`) }
      const scrolls = narrowLight === undefined ? ' tabindex="0"' : ''
      token.content = `<p class="${scrolls ? 'diagram' : 'picture'}"${scrolls}>${drawing('on-light', forLight, rest)}${drawing('on-dark', forDark, rest)}</p>\n`
    }
  })
}

const DARK = '(prefers-color-scheme: dark)'
const PHONE = '(max-width: 500px)'

function drawing(name: string, { src, narrow }: Drawn, rest: string): string {
  const image = `<img loading="lazy" src="${src}"${rest}>`
  const source = narrow === undefined ? '' : `<source media="${PHONE}" srcset="${narrow}">`
  return `<picture class="${name}">${source}${image}</picture>`
}
