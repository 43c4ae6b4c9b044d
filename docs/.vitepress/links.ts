/**
 * Pages are read in the repository, too, and link to its files. Here such a link leads to the page that has the file: an example's, or
 * that of a package. Any other link that leaves the folder is left as it is, so that the build names it as dead.
 */

import { posix } from 'node:path'
import type { MarkdownRenderer } from 'vitepress'

export function linksWithinTheSite(md: MarkdownRenderer): void {
  md.core.ruler.push('links-within-the-site', ({ tokens, env }) => {
    const folder = posix.dirname(posix.join('docs', String(env.relativePath)))
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const href = token.type === 'link_open' ? token.attrGet('href') : null
      if (href && !/^([a-z]+:|[/#])/.test(href)) token.attrSet('href', pageOf(posix.join(folder, href)) ?? href)
    }
  })
}

function pageOf(target: string): string | undefined {
  const [given = '', anchor] = target.split('#')
  // The list of examples is that of their folder.
  const path = given.replace(/^docs\/examples\//, 'examples/')
  const page =
    path === 'README.md'
      ? '/start'
      : path === 'compose.yaml'
        ? '/examples/compose'
        : path.match(/^examples\/(?<name>.+)\.ts$/)
          ? `/${path.slice(0, -'.ts'.length)}`
          : path.match(/^examples(\/\w+)?\/?$/)
            ? '/examples/'
            : path.match(/^packages\/[^/]+(\/README\.md)?$/)
              ? `/${path.replace('/README.md', '')}`
              : undefined
  return page && (anchor ? `${page}#${anchor}` : page)
}
