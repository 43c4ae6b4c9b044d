/**
 * Pages are read in the repository, too, and link to its files. Here such a link leads to the page that has the file: an example's, or
 * that of a package. Any other link that leaves the folder is left as it is, so that the build names it as dead.
 */

import { posix } from 'node:path'
import type { MarkdownRenderer } from 'vitepress'

/** What stands in the repository, and where on the site it is. */
const PLACES: readonly (readonly [file: RegExp, page: string])[] = [
  [/^README\.md(#.*)?$/, '/start'],
  [/^compose\.yaml$/, '/examples/compose'],
  // The list of examples is that of their folder, which the site includes.
  [/^(?:docs\/)?examples\/(.+)\.ts$/, '/examples/$1'],
  [/^(?:docs\/)?examples(\/\w+)?\/?$/, '/examples/'],
  [/^packages\/([^/#]+)(?:\/README\.md)?(#.*)?$/, '/packages/$1$2'],
]

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
  const place = PLACES.find(([file]) => file.test(target))
  return place && target.replace(...place)
}
