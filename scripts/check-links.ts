// Checks links in tracked Markdown: the file of a relative link must exist, and so must its heading. The build of the site checks
// links between pages again, and also knows the generated pages.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { posix } from 'node:path'
import { slugOf } from '../docs/.vitepress/slug.ts'

const pages = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
  encoding: 'utf8',
})
  .split('\n')
  .filter((page) => existsSync(page) && page !== '')

/** The text without code, which may look like a link or a heading. */
const proseOf = (text: string): string =>
  text.replaceAll(/^ *(```+)[\s\S]*?^ *\1/gm, (block) => block.replaceAll(/[^\n]/g, ''))

const plainOf = (heading: string): string => heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll(/[`*]/g, '')

const anchorsOf = new Map<string, ReadonlySet<string>>()

function anchors(page: string): ReadonlySet<string> {
  const known = anchorsOf.get(page)
  if (known) return known
  const found = new Set<string>()
  const text = proseOf(readFileSync(page, 'utf8'))
  for (const [, heading = ''] of text.matchAll(/^#{1,6} +(.+)$/gm)) {
    const slug = slugOf(plainOf(heading))
    let [anchor, repeat] = [slug, 0]
    while (found.has(anchor)) anchor = `${slug}-${++repeat}`
    found.add(anchor)
  }
  for (const [, id = ''] of text.matchAll(/<a id="([^"]+)"/g)) found.add(id)
  anchorsOf.set(page, found)
  return found
}

function faultOf(page: string, link: string): string | undefined {
  const [path = '', anchor] = link.split('#')
  const target = path === '' ? page : posix.join(posix.dirname(page), decodeURI(path))
  if (!existsSync(target)) return `${target} does not exist`
  if (anchor === undefined) return undefined
  const file = statSync(target).isDirectory() ? posix.join(target, 'README.md') : target
  if (!file.endsWith('.md') || !existsSync(file)) return undefined
  return anchors(file).has(anchor) ? undefined : `${file} has no heading #${anchor}`
}

let failed = 0
for (const page of pages) {
  const text = proseOf(readFileSync(page, 'utf8')).replaceAll(/`[^`\n]*`/g, (code) => code.replaceAll(/[[\]()]/g, ' '))
  for (const { 1: link = '', index } of text.matchAll(/\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)/g)) {
    if (/^([a-z]+:|\/)/.test(link)) continue
    const fault = faultOf(page, link)
    if (!fault) continue
    failed++
    console.error(`${page}:${text.slice(0, index).split('\n').length}: ${link}: ${fault}`)
  }
}
if (failed > 0) process.exitCode = 1
