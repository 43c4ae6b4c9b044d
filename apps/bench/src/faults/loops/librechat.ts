/** LibreChat's agents, with early tools. */

import type { Load, PeerTool } from '../../peers/driver.ts'
import { answerOf, type ContentPart, librechatRuns, textOf } from '../../peers/drivers/librechat.ts'
import { type FaultLoop, LOOP_TOOLS } from './loop.ts'

const TOOLS: readonly PeerTool[] = LOOP_TOOLS.map((name) => ({
  name,
  description: name,
  schema: { type: 'object', properties: { q: { type: 'string' }, to: { type: 'string' } } },
}))

/** The longest that one run may take, in milliseconds. */
const TIME = 60_000

/** `fallback`: LibreChat asks another model when the first one fails, as its users may configure. */
export async function librechatLoop(load: Load, { fallback }: { readonly fallback: boolean }): Promise<FaultLoop> {
  const run = await librechatRuns(load)
  return async ({ wire, fetch, prompt, work }) => {
    const content = await run({
      wire,
      url: 'http://model.test',
      fetch,
      fallback,
      prompt,
      tools: TOOLS,
      signal: AbortSignal.timeout(TIME),
      async work({ tool, input }) {
        const name = LOOP_TOOLS.find((one) => one === tool)
        return name ? await work(name, Object(input)) : ''
      },
    })
    const calls = content.flatMap(({ tool_call }) => tool_call ?? [])
    const isWhole = (call: (typeof calls)[number]) => Boolean(call.output)
    return {
      shown: textOf(content),
      answer: answerOf(content),
      kept: keptOf(content),
      orphans: calls.length - calls.filter(isWhole).length,
    }
  }
}

/** A text may have several parts. */
function keptOf(content: readonly ContentPart[]): string {
  const calls = content.flatMap(({ tool_call: call }) => (call ? [[call.id, call.name, call.args, call.output]] : []))
  return JSON.stringify([textOf(content), calls])
}
