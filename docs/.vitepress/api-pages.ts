/** The pages of the API reference, from the list that typedoc writes next to them: for the sidebars, and for links on the names of exports. */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { DefaultTheme } from 'vitepress'

interface Entry {
  readonly title: string
  readonly path?: string
  readonly children?: readonly Entry[]
}

const file = join(import.meta.dirname, '../api/navigation.json')
const modules: readonly Entry[] = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : []

const linkOf = (path: string): string => `/api/${path.replace(/(index)?\.md$/, '')}`

/** Each module has its own sidebar: its exports, and the other modules. */
export const apiSidebars: Record<string, DefaultTheme.SidebarItem[]> = Object.fromEntries(
  [undefined, ...modules].map((shown) => [
    linkOf(shown?.path ?? ''),
    [
      { text: 'API reference', link: '/api/' },
      { text: 'Guides', link: '/start' },
      { items: modules.map((module) => itemOf(module === shown ? module : { ...module, children: [] })) },
    ],
  ]),
)

function itemOf({ title, path, children = [] }: Entry): DefaultTheme.SidebarItem {
  return {
    text: title.replace('@meanwhile/', ''),
    ...(path !== undefined && { link: linkOf(path) }),
    ...(children.length > 0 && { items: children.map(itemOf) }),
  }
}

/** The page of an export, by its name. Core's names come first, then those of the other packages' main modules. */
export const apiPages: ReadonlyMap<string, string> = new Map(
  [...modules]
    .sort((a, b) => rank(b) - rank(a))
    .flatMap(leavesOf)
    .map(({ title, path = '' }) => [title, linkOf(path)]),
)

function rank({ title }: Entry): number {
  if (title === '@meanwhile/core') return 0
  return title.split('/').length - 1
}

function leavesOf(entry: Entry): readonly Entry[] {
  const leaves = entry.children?.flatMap(leavesOf) ?? []
  return entry.path === undefined || entry.path.endsWith('index.md') ? leaves : [entry, ...leaves]
}
