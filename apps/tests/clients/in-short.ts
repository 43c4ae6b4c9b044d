/** What messages of AG-UI say, in one form for all clients: some put all steps of a turn into one message, and results behind their calls. */

interface InShort {
  readonly role: 'user' | 'assistant'
  text: string
  readonly calls: { readonly name: string; readonly input: unknown; readonly result: unknown }[]
}

export function inShort(messages: unknown): readonly InShort[] {
  const list: readonly unknown[] = Array.isArray(messages) ? messages : []
  const results = new Map(list.map((message) => [Object(message).toolCallId, Object(message).content]))
  const short: InShort[] = []
  for (const message of list) {
    const { role, content, toolCalls = [] } = Object(message)
    if (role !== 'user' && role !== 'assistant') continue
    let last = short.at(-1)
    if (last?.role !== 'assistant' || role === 'user') short.push((last = { role, text: '', calls: [] }))
    last.text += textIn(content)
    for (const { id, function: called } of toolCalls)
      last.calls.push({ name: called.name, input: parsed(called.arguments), result: parsed(results.get(id)) })
  }
  return short
}

function textIn(content: unknown): string {
  if (typeof content === 'string') return content
  return Array.isArray(content) ? content.map((part) => Object(part).text ?? `[${Object(part).type}]`).join('') : ''
}

/** Results of parallel calls may be files, and arguments have spaces in them. */
function parsed(value: unknown): unknown {
  try {
    return typeof value === 'string' ? JSON.parse(value) : value
  } catch {
    return value
  }
}
