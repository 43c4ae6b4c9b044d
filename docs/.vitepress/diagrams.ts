/** A code block of Mermaid becomes a diagram. A paragraph that is only a picture may scroll, so the keyboard reaches it. */

import type { MarkdownRenderer } from 'vitepress'

export function diagrams(md: MarkdownRenderer): void {
  const { fence } = md.renderer.rules
  md.renderer.rules.fence = (tokens, index, options, env, self) => {
    const token = tokens[index]
    if (token?.info.trim() === 'mermaid') return `<Mermaid code="${encodeURIComponent(token.content)}" />\n`
    return fence?.(tokens, index, options, env, self) ?? ''
  }
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
