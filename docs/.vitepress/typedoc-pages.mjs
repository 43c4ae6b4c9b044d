/**
 * A plugin for typedoc, with what its options cannot say: the names of modules, the topics of core's index, a column for defaults, an
 * import line on every page, and the table of options on the page of the function that takes them.
 */

import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CommentTag, Converter, ReflectionCategory, ReflectionKind } from 'typedoc'
import { MarkdownPageEvent } from 'typedoc-plugin-markdown'

/** The topics of `@meanwhile/core`: the first whose pattern fits the source file of a symbol. */
const TOPICS = [
  ['Errors', /errors?\.ts$/],
  ['Tools', /tool|effect|resource-keys|call-options|output-limits/],
  ['Messages and events', /message|events|warning/],
  ['Questions and checkpoints', /interrupt|checkpoint|saved-run/],
  ['Models', /vocabulary\/model\.ts/],
  ['Middleware', /middleware|gate|run-local|context-of|option-checks|flow\//],
  ['Telemetry', /telemetry|span-content|semconv/],
  ['Agents and runs', /./],
]

const ORDER = [
  'Agents and runs',
  'Tools',
  'Messages and events',
  'Questions and checkpoints',
  'Middleware',
  'Models',
  'Telemetry',
  'Errors',
]

/** What stands first in its topic, in this order. */
const FIRST = [
  'createAgent',
  'AgentOptions',
  'Agent',
  'AgentRun',
  'AgentResult',
  'RunOptions',
  'tool',
  'ToolOptions',
  'ToolContext',
  'Run',
]

export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const module of project.children ?? []) {
      module.name = module.name.replace(/^packages\/([^/]+)\/src/, '@meanwhile/$1')
    }
    for (const reflection of Object.values(project.reflections)) {
      if (reflection.kindOf(ReflectionKind.Interface)) inheritComments(reflection)
      for (const { comment } of [reflection, ...(reflection.signatures ?? [])]) if (comment) separateDefault(comment)
      if (!reflection.kindOf(ReflectionKind.Property)) continue
      // The initial value of a class member is not a default that a user can change.
      if (reflection.parent?.kindOf(ReflectionKind.Class)) delete reflection.defaultValue
      if (isNeverSet(reflection)) project.removeReflection(reflection)
    }
  })

  // Last, when all groups and links are made.
  app.converter.on(
    Converter.EVENT_RESOLVE_END,
    ({ project }) => {
      const core = project.children?.find(({ name }) => name === '@meanwhile/core')
      if (core) core.categories = topicsOf(core, project)
    },
    -1_000,
  )

  const missing = []
  app.renderer.on(MarkdownPageEvent.END, (page) => {
    if (!page.contents) return
    page.contents =
      page.model === page.project
        ? listOfModules(page)
        : described(plainTables(withImport(page.contents, page.model)), page.url, missing)
  })

  // When all pages are written.
  app.renderer.postRenderAsyncJobs.push(async ({ outputDirectory, pages }) => {
    if (missing.length > 0) throw new Error(`these have no docstring:\n${missing.join('\n')}`)
    for (const { url, model } of pages) {
      const options = optionsOf(model)
      if (options) await addOptions(join(outputDirectory, url), options.name)
    }
  })
}

function topicsOf(core, project) {
  const categories = ORDER.map((title) => new ReflectionCategory(title))
  for (const child of core.children ?? []) {
    const file = project.getSymbolIdFromReflection(child)?.packagePath ?? ''
    const [title] = TOPICS.find(([, pattern]) => pattern.test(file))
    categories.find((category) => category.title === title)?.children.push(child)
  }
  for (const { children } of categories) children.sort((a, b) => rank(a) - rank(b))
  return categories.filter(({ children }) => children.length > 0)
}

function rank({ name, kind }) {
  if (FIRST.includes(name)) return FIRST.indexOf(name)
  return FIRST.length + (kind === ReflectionKind.Function ? 0 : 1)
}

/** A member such as `error?: undefined` only makes reading it legal in a union. */
function isNeverSet({ flags, type }) {
  return flags.isOptional && type?.type === 'intrinsic' && /^(undefined|never)$/.test(type.name)
}

/** Members that an interface has through `Omit<Other, …>` or `Pick<Other, …>`, or writes again with another type, have the docstrings of the other's. */
function inheritComments(reflection) {
  for (const { name, typeArguments } of reflection.extendedTypes ?? []) {
    if (name !== 'Omit' && name !== 'Pick') continue
    const other = typeArguments[0].reflection
    for (const member of reflection.children ?? []) {
      const same = other?.getChildByName([member.name])
      const [to, from] = [member.signatures?.[0] ?? member, same?.signatures?.[0] ?? same]
      if (!to.comment && from?.comment) to.comment = from.comment.clone()
    }
  }
}

/** `Default 20; a positive integer.` in a docstring becomes the default `20`, and the text `A positive integer.` */
function separateDefault(comment) {
  const at = comment.summary.findIndex(
    ({ kind, text }) => kind === 'text' && /(^|[.;]\s+)Default:? ?(?=$|[\w[{'‘“-])/.test(text),
  )
  if (at < 0 || comment.blockTags.some(({ tag }) => tag === '@defaultValue')) return
  const parts = comment.summary
  const [, before, after] = parts[at].text.match(/^(.*?(?:^|[.;]\s+))Default:? ?(.*)$/s)
  const rest = [{ kind: 'text', text: after }, ...parts.slice(at + 1)]
  const end = rest.findIndex(({ kind, text }) => kind === 'text' && /[.;:](\s|$)/.test(text))
  if (end < 0) return
  const [, last, following] = rest[end].text.match(/^(.*?)[.;:](?:\s+(.*))?$/s)
  const value = [...rest.slice(0, end), { kind: 'text', text: last }].filter(({ text }) => text !== '')
  const tail = (following ?? '').replace(/^./, (letter) => letter.toUpperCase())
  comment.summary = [
    ...parts.slice(0, at),
    { kind: 'text', text: before },
    { kind: 'text', text: tail },
    ...rest.slice(end + 1),
  ]
  comment.blockTags.push(new CommentTag('@defaultValue', value))
}

/** The first page lists the modules by hand, with a sentence on each: it may miss none. */
function listOfModules({ contents, project }) {
  const [page] = contents.split(/^## Modules$/m)
  const missing = project.children?.filter(({ name }) => !page.includes(`[\`${name}\`]`)).map(({ name }) => name) ?? []
  if (missing.length > 0) throw new Error(`docs/.vitepress/api.md does not list ${missing.join(', ')}`)
  return page
}

/** No default is an empty cell, and a union does not begin with a line. */
const plainTables = (contents) =>
  contents
    .split('\n\n')
    .map((block) => (block.includes('| Default value |') ? withoutUndefined(block) : block).replaceAll('| \\| ', '| '))
    .join('\n\n')

/** The default is the third cell of a row. */
const withoutUndefined = (table) =>
  table
    .replace('| Default value |', '| Default |')
    .replaceAll(/^((?:\| (?:\\\||[^|])*){2}\| )`undefined` (?=\|)/gm, '$1 ')

/**
 * The description of a member may be missing if its type is enough: a literal, such as `type: 'text'`. The `name` of an error is such a member, and
 * so is a member of a member, which is described with that. All others need a docstring, and are added to `missing`.
 */
function described(contents, page, missing) {
  for (const [, rows] of contents.matchAll(/^\| Property \| Type \|\n.*\n((?:\|.*\n)+)/gm))
    for (const row of rows.trim().split('\n')) if (!isPlain(row)) missing.push(`${page}: ${row}`)
  return contents.replaceAll(/^(\|.*) - \|$/gm, (row, start) => {
    if (!isPlain(start)) missing.push(`${page}: ${row}`)
    return `${start}  |`
  })
}

const isPlain = (row) => OF_ITSELF.some((pattern) => pattern.test(row))

const OF_ITSELF = [
  /^\| (?:<a [^>]*><\/a> )?`\w+\??` \| `(?:true|"[^"]*")` \|$/,
  /^\| (?:<a [^>]*><\/a> )?`name` \| `string` \|$/,
  /^\| `[\w.?]*\.\w+\??` \|/,
  /^\| <a id="type-parameter-/,
]

function withImport(contents, model) {
  const module = model?.parent?.kind === ReflectionKind.Module ? model.parent.name : undefined
  if (!module) return contents
  const keyword = model.kindOf([ReflectionKind.Interface, ReflectionKind.TypeAlias]) ? 'import type' : 'import'
  return contents.replace(/^(# .*\n)/, `$1\n\`\`\`ts\n${keyword} { ${model.name} } from '${module}'\n\`\`\`\n`)
}

/** The interface of the options that a function takes, if it stands in the same module. */
function optionsOf(model) {
  if (!model?.kindOf?.(ReflectionKind.Function)) return undefined
  for (const { type } of model.signatures.flatMap(({ parameters }) => parameters ?? [])) {
    for (const part of type?.type === 'intersection' ? type.types : [type]) {
      const target = part?.reflection
      if (target?.kindOf(ReflectionKind.Interface) && target.name.endsWith('Options') && target.parent === model.parent)
        return target
    }
  }
  return undefined
}

/** The members of the options, from their own page, stand first on that of the function that takes them. */
async function addOptions(page, name) {
  const options = await readFile(join(dirname(page), `../interfaces/${name}.md`), 'utf8')
  const [, members] = options.match(/^## (?:Properties|Methods)\n([\s\S]*)$/m) ?? []
  if (!members) return
  const table = members
    .replaceAll(/\]\((?!\.\.\/|https?:|#)/g, '](../interfaces/')
    .replaceAll(/^## Methods\n/gm, '')
    .replace('| Property |', '| Option |')
  const contents = await readFile(page, 'utf8')
  await writeFile(
    page,
    contents.replace(/^## /m, () => `## Options\n\n${table.trim()}\n\n## `),
  )
}
