/** OpenAI Agents: a call of a response whose end is missing is executed. */

import { call, cut, respond, say } from '@meanwhile/assemble/testing'
import { openaiAgents } from '../../peers/drivers/openai-agents.ts'
import { playedTrial } from '../played.ts'
import type { Row } from '../row.ts'

const input = {
  wire: 'openai-chat',
  script: [respond(call('send', { to: 'Bo', text: 'Hi.' }), cut()), respond(say('Done.'))],
} as const

export const cutOffCall: Row = {
  title: 'A call that sends something, of a response whose end is missing',
  library: 'OpenAI Agents',
  thread: { name: 'openai/openai-agents-js#1741', status: '2026-08, merged', isRelated: true },
  note: 'Only with Chat Completions: with Responses the run fails, as ours does. The thread is about empty responses that the token limit ends; it keeps those with calls on purpose.',
  test: {
    file: 'packages/core/src/run/finish-reasons.test.ts',
    title: 'calls of a failed response do not run, not even sealed ones',
  },
  trial: playedTrial({
    folder: 'libraries',
    packages: ['@openai/agents'],
    right: 'ours',
    input,
    driver: openaiAgents,
    effect: 'external',
    expected: {
      theirs: 'the tool ran with {"to":"Bo","text":"Hi."}; the answer is "Done."',
      ours: 'no tool ran; the run failed: the response was cut off: its stream had no terminal event',
    },
  }),
}
