/** Parses the front matter of a Markdown file: YAML between two lines of dashes. */

export interface FrontMatter {
  /** By key; the value is empty if it is not text, for example a list. */
  readonly fields: ReadonlyMap<string, string>
  /** Everything after the second line of dashes, unchanged. */
  readonly body: string
}

/** The maximum characters of the front matter. */
const MAX_LENGTH = 65_536

/**
 * Parses a text. A plain value on the line of its key may contain a colon and a space, as in common front matter;
 * strict YAML requires quotes.
 *
 * Rejects with a `SyntaxError` if there is no front matter, it is not a YAML mapping, has a key twice, or has more than
 * 65,536 characters.
 */
export async function frontMatter(text: string): Promise<FrontMatter> {
  const lines = text.split('\n')
  const isRule = (line: string) => line.trimEnd() === '---'
  if (!isRule(lines[0] ?? '')) throw new SyntaxError('it does not begin with a line of three dashes')
  const end = lines.findIndex((line, place) => place > 0 && isRule(line))
  if (end === -1) throw new SyntaxError('its front matter has no end')
  return { fields: await fieldsOf(lines.slice(1, end)), body: lines.slice(end + 1).join('\n') }
}

async function fieldsOf(lines: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const head = lines.map(withColons).join('\n')
  if (head.length > MAX_LENGTH) throw new SyntaxError(`its front matter has more than ${MAX_LENGTH} characters`)
  // Loaded on demand, because it is larger than all of core.
  const { isMap, isScalar, parseDocument } = await import('yaml')
  const options = { schema: 'failsafe', prettyErrors: false, uniqueKeys: false } as const
  const { contents, errors } = parseDocument(head, options)
  if (errors[0]) throw new SyntaxError(`its front matter is not YAML: ${errors[0].message}`)
  if (contents && !isMap(contents)) throw new SyntaxError('its front matter has no keys')
  const textOf = (node: unknown) => (isScalar(node) && typeof node.value === 'string' ? node.value.trim() : '')
  const fields = new Map<string, string>()
  for (const { key, value } of contents?.items ?? []) {
    const name = textOf(key)
    // The parser's own check would compare each key with every other one.
    if (fields.has(name)) throw new SyntaxError(`its front matter has ${name} twice`)
    fields.set(name, textOf(value))
  }
  return fields
}

/** Turns a plain value with a colon into a block, which may contain one. */
function withColons(line: string): string {
  const [, key, value] = /^([\w-]+:)[ \t]+([^\s|>'"[{&*!].*)$/.exec(line.trimEnd()) ?? []
  const text = value?.replace(/[ \t]#.*/, '')
  return text !== undefined && /:(?:\s|$)/.test(text) ? `${key} >-\n  ${text}` : line
}
