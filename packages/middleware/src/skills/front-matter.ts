/** The head of a Markdown file: YAML between two lines of dashes. */

export interface FrontMatter {
  /** By key; of one that holds no text, such as a list, it is empty. */
  readonly fields: ReadonlyMap<string, string>
  /** All behind the second line of dashes, unaltered. */
  readonly body: string
}

/** Much more than any head needs. */
const MAX_LENGTH = 65_536

/**
 * A plain text in the line of its key may hold a colon and a space, as heads are written: strict YAML would have it quoted.
 *
 * Rejects with a `SyntaxError` if there is no head, it is no YAML mapping, has a key twice, or more than 65,536 characters.
 */
export async function frontMatter(text: string): Promise<FrontMatter> {
  const lines = text.split('\n')
  const isRule = (line: string) => line.trimEnd() === '---'
  if (!isRule(lines[0] ?? '')) throw new SyntaxError('it does not begin with a line of three dashes')
  const end = lines.findIndex((line, place) => place > 0 && isRule(line))
  if (end === -1) throw new SyntaxError('its head has no end')
  return { fields: await fieldsOf(lines.slice(1, end)), body: lines.slice(end + 1).join('\n') }
}

async function fieldsOf(lines: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const head = lines.map(withColons).join('\n')
  if (head.length > MAX_LENGTH) throw new SyntaxError(`its head has more than ${MAX_LENGTH} characters`)
  // Larger than all of core: those who have no skills are not to load it.
  const { isMap, isScalar, parseDocument } = await import('yaml')
  const options = { schema: 'failsafe', prettyErrors: false, uniqueKeys: false } as const
  const { contents, errors } = parseDocument(head, options)
  if (errors[0]) throw new SyntaxError(`its head is no YAML: ${errors[0].message}`)
  if (contents && !isMap(contents)) throw new SyntaxError('its head holds no keys')
  const textOf = (node: unknown) => (isScalar(node) && typeof node.value === 'string' ? node.value.trim() : '')
  const fields = new Map<string, string>()
  for (const { key, value } of contents?.items ?? []) {
    const name = textOf(key)
    // The parser compares each key with each other one.
    if (fields.has(name)) throw new SyntaxError(`its head has ${name} twice`)
    fields.set(name, textOf(value))
  }
  return fields
}

/** A plain text with a colon in it becomes a block, which may hold one. */
function withColons(line: string): string {
  const [, key, value] = /^([\w-]+:)[ \t]+([^\s|>'"[{&*!].*)$/.exec(line.trimEnd()) ?? []
  const text = value?.replace(/[ \t]#.*/, '')
  return text !== undefined && /:(?:\s|$)/.test(text) ? `${key} >-\n  ${text}` : line
}
