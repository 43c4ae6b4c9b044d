/** Cuts the long texts of a run: the page shows their beginning, and asks for the span if somebody wants the rest. */

import type { Call, Response, Run } from '../model/run.ts'

const MOST_CHARACTERS = 8_000

export function shortened(run: Run): Run {
  return {
    ...run,
    ...(run.prompt !== undefined && { prompt: cut(run.prompt) }),
    inner: run.inner.map(shortened),
    steps: run.steps.map((step) => ({
      ...step,
      responses: step.responses.map(shortResponse),
      calls: step.calls.map(shortCall),
    })),
  }
}

function shortResponse(response: Response): Response {
  const { text, thinking, error } = response
  return {
    ...response,
    ...(text !== undefined && { text: cut(text) }),
    ...(thinking !== undefined && { thinking: cut(thinking) }),
    ...(error !== undefined && { error: cut(error) }),
  }
}

function shortCall(call: Call): Call {
  const { input, output, error, inner } = call
  return {
    ...call,
    inner: inner.map(shortened),
    ...(input !== undefined && { input: cutValue(input) }),
    ...(output !== undefined && { output: cutValue(output) }),
    ...(error !== undefined && { error: cut(error) }),
  }
}

function cutValue(value: unknown): unknown {
  if (typeof value === 'string') return cut(value)
  const text = JSON.stringify(value) ?? ''
  return text.length > MOST_CHARACTERS ? cut(text) : value
}

function cut(text: string): string {
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}… [${text.length} characters]` : text
}
