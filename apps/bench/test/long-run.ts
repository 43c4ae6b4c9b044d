/** Long runs as OTLP, made up for trials of the devtools' page. */

export interface LongRun {
  readonly steps: number
  readonly callsInStep: number
}

const START = 1_790_000_000_000

/** Milliseconds are kept exact: times in the file are whole nanoseconds. */
export function longRun({ steps, callsInStep }: LongRun): string {
  const spans: object[] = []
  let at = 10
  for (let step = 1; step <= steps; step++) {
    spans.push(span(`chat ${step}`, at, at + 900, { 'gen_ai.operation.name': 'chat', 'meanwhile.step.index': step }))
    for (let n = 0; n < callsInStep; n++) {
      const start = at + 200 + ((n * 37) % 600)
      spans.push(
        span(`execute_tool ${step}-${n}`, start, start + 150 + ((n * 53) % 400), {
          'gen_ai.operation.name': 'execute_tool',
          'gen_ai.tool.name': ['grep', 'read_file', 'edit_file'][n % 3] ?? '',
          'gen_ai.tool.call.id': `${step}-${n}`,
          'meanwhile.tool.effect': ['read', 'read', 'reversible'][n % 3] ?? '',
          'meanwhile.dispatch.mode': 'early',
          'meanwhile.step.index': step,
        }),
      )
    }
    at += step % 16 === 0 ? 60_000 : 1_500
  }
  const root = span('invoke_agent coder', 0, at, {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'coder',
  })
  const all = [{ ...root, parentSpanId: '' }, ...spans]
  const scopeSpans = [
    { scope: { name: '@meanwhile/core' }, spans: all.map((one, n) => ({ ...one, spanId: idOf(n + 1) })) },
  ]
  return JSON.stringify({ resourceSpans: [{ resource: { attributes: [] }, scopeSpans }] })
}

const idOf = (n: number): string => n.toString(16).padStart(16, '0')

function span(name: string, from: number, to: number, attributes: Readonly<Record<string, string | number>>) {
  return {
    traceId: 'c'.repeat(32),
    parentSpanId: idOf(1),
    name,
    kind: 1,
    startTimeUnixNano: `${START + from}000000`,
    endTimeUnixNano: `${START + to}000000`,
    attributes: Object.entries(attributes).map(([key, value]) => ({
      key,
      value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
    })),
  }
}
