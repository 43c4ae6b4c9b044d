/** A code block of Mermaid becomes a diagram. */

import type { MarkdownRenderer } from 'vitepress'

export function diagrams(md: MarkdownRenderer): void {
  const { fence } = md.renderer.rules
  md.renderer.rules.fence = (tokens, index, options, env, self) => {
    const token = tokens[index]
    if (token?.info.trim() === 'mermaid') return `<Mermaid code="${encodeURIComponent(token.content)}" />\n`
    return fence?.(tokens, index, options, env, self) ?? ''
  }
}
