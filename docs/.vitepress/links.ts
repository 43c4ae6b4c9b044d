/**
 * Pages are read in the repository, too, and link to its files. Here such a link leads to the page that has the file: an example's, or
 * that of a package. Any other link that leaves the folder is left as it is, so that the build names it as dead.
 *
 * On the site the name of an export, written as code, is a link to its page in the API reference.
 */

import { posix } from 'node:path'
import type { MarkdownRenderer } from 'vitepress'
import { apiPages } from './api-pages.ts'

/** What stands in the repository, and where on the site it is. */
const PLACES: readonly (readonly [file: RegExp, page: string])[] = [
  [/^README\.md(#.*)?$/, '/start'],
  [/^compose\.yaml$/, '/examples/compose'],
  // The list of examples is that of their folder, which the site includes.
  [/^(?:docs\/)?examples\/(.+)\.tsx?$/, '/examples/$1'],
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

export function linksToTheApi(md: MarkdownRenderer): void {
  md.core.ruler.push('links-to-the-api', ({ tokens, env, Token }) => {
    if (String(env.relativePath).startsWith('api/')) return
    let isHeading = false
    for (const token of tokens) {
      if (token.type === 'heading_open') isHeading = true
      if (token.type === 'heading_close') isHeading = false
      if (isHeading || !token.children) continue
      let links = 0
      token.children = token.children.flatMap((child) => {
        if (child.type === 'link_open') links++
        if (child.type === 'link_close') links--
        const page = child.type === 'code_inline' && links === 0 ? apiPageOf(child.content) : undefined
        if (page === undefined) return [child]
        const open = new Token('link_open', 'a', 1)
        open.attrs = [
          ['href', page],
          ['class', 'to-api'],
        ]
        return [open, child, new Token('link_close', 'a', -1)]
      })
    }
  })
}

/** A name of one word in lower case, such as `end`, may mean anything. */
function apiPageOf(code: string): string | undefined {
  const [, name = ''] = code.match(/^(\w*[A-Z]\w*)(\(\))?$/) ?? []
  return apiPages.get(name)
}

function pageOf(target: string): string | undefined {
  const place = PLACES.find(([file]) => file.test(target))
  return place && target.replace(...place)
}
