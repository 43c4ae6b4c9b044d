/** OpenAI Agents: a call of a response whose end is missing is executed. After an error event it is not. */

import { call, cut, fail, respond, say } from '@meanwhile/assemble/testing'
import type { PeerRun } from '../../peers/driver.ts'
import { openaiAgents } from '../../peers/drivers/openai-agents.ts'
import { own, played } from '../played.ts'
import type { Row } from '../row.ts'

const sends = call('send', { to: 'Bo', text: 'Hi.' })
const overloaded = fail({ code: 'overloaded_error', message: 'overloaded' })

const ENDS = {
  'Without its last event': [respond(sends, cut()), respond(say('Done.'))],
  'With an error event': [respond(sends, overloaded), respond(say('Done.'))],
  'An answer without its last event': [respond(say('Bo knows: do not pay'), cut())],
}

/** What happens with each, on Chat. */
export async function ends(run: PeerRun): Promise<string> {
  const all: string[] = []
  for (const [end, script] of Object.entries(ENDS))
    all.push(`${end}: ${await played(run, { wire: 'openai-chat', script })}`)
  return all.join('. ')
}

const CUT = 'no tool ran; the run failed: the response was cut off: its stream had no terminal event'

/** What ours does, and a library that takes the end of the stream for the end of the response. */
export const EXPECTED = {
  ours: `Without its last event: ${CUT}. With an error event: no tool ran; the run failed: overloaded. An answer without its last event: ${CUT}`,
  theirs:
    'Without its last event: the tool ran with {"to":"Bo","text":"Hi."}; the answer is "Done.". With an error event: no tool ran; the run failed: overloaded. An answer without its last event: no tool ran; the answer is "Bo knows: do not pay"',
}

export const CUT_TEST = {
  file: 'packages/core/src/run/finish-reasons.test.ts',
  title: 'calls of a failed response do not run, not even sealed ones',
}

export const cutOffCall: Row = {
  title: 'A call that sends something, of a response whose end is missing',
  library: 'OpenAI Agents',
  thread: { name: 'openai/openai-agents-js#1741', status: '2026-08, merged', isRelated: true },
  note: 'Only with Chat Completions: with Responses the run fails, as ours does. The thread is about empty responses that the token limit ends; it keeps those with calls on purpose.',
  test: CUT_TEST,
  trial: {
    folder: 'libraries',
    packages: ['@openai/agents'],
    right: 'ours',
    theirs: async (load) => await ends(await openaiAgents(load)),
    ours: async () => await ends(own('external')),
    expected: EXPECTED,
  },
}
