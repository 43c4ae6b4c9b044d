/** The head of a Markdown file: a few `key: value` lines between two lines of dashes. */

export interface FrontMatter {
  /** Top-level keys with a text; what is nested below a key is left out. */
  readonly fields: ReadonlyMap<string, string>
  /** All behind the second line of dashes, unaltered. */
  readonly body: string
}

/**
 * The part of YAML that heads are written in: plain and quoted texts, texts that go on in indented lines, and blocks (`|`, `>`).
 *
 * @throws {SyntaxError} There is no head, a line of it is of no known form, or a key is there twice.
 */
export function frontMatter(text: string): FrontMatter {
  const first = lineAt(text, 0)
  if (first.line.trimEnd() !== '---') throw new SyntaxError('it does not begin with a line of three dashes')
  const lines: string[] = []
  for (let at = first.next; at < text.length; ) {
    const { line, next } = lineAt(text, at)
    if (line.trimEnd() === '---') return { fields: fieldsOf(lines), body: text.slice(next) }
    lines.push(line)
    at = next
  }
  throw new SyntaxError('its head has no end')
}

function lineAt(text: string, start: number): { readonly line: string; readonly next: number } {
  const end = text.indexOf('\n', start)
  const stop = end === -1 ? text.length : end
  const line = text.slice(start, stop)
  return { line: line.endsWith('\r') ? line.slice(0, -1) : line, next: end === -1 ? stop : end + 1 }
}

function fieldsOf(lines: readonly string[]): ReadonlyMap<string, string> {
  const fields = new Map<string, string>()
  for (let at = 0; at < lines.length; ) {
    const line = lines[at++] ?? ''
    if (line.trim() === '' || line.startsWith('#')) continue
    const [, key, rest] = /^([A-Za-z0-9_-]+):(?:[ \t]+(.*))?$/.exec(line) ?? []
    if (key === undefined) throw new SyntaxError(`its head holds a line of no known form: ${line.slice(0, 100)}`)
    if (fields.has(key)) throw new SyntaxError(`its head has ${key} twice`)
    const below: string[] = []
    while (at < lines.length && /^([ \t]|$)|^- /.test(lines[at] ?? '')) below.push((lines[at++] ?? '').trim())
    fields.set(key, textOfField(key, (rest ?? '').trim(), below))
  }
  return fields
}

/** A value that begins in the line of its key, or as a block below it. A list or mapping below a key is no text: it counts as none. */
function textOfField(key: string, inline: string, below: readonly string[]): string {
  if (/^[|>][+-]?$/.test(inline)) return below.join(inline.startsWith('|') ? '\n' : ' ').trim()
  if (inline === '') return ''
  const whole = [inline, ...below.filter((line) => line !== '')].join(' ')
  const quote = whole[0]
  if (quote === '"') return doubleQuoted(key, whole)
  if (quote === "'") return singleQuoted(key, whole)
  return whole.replace(/\s#.*$/, '').trimEnd()
}

function doubleQuoted(key: string, text: string): string {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'string') return value
  } catch {
    // Said below.
  }
  throw new SyntaxError(`its head has a ${key} whose quotes do not fit`)
}

function singleQuoted(key: string, text: string): string {
  const inner = text.slice(1, -1)
  const isWhole = text.length > 1 && text.endsWith("'") && !inner.replaceAll("''", '').includes("'")
  if (isWhole) return inner.replaceAll("''", "'")
  throw new SyntaxError(`its head has a ${key} whose quotes do not fit`)
}
