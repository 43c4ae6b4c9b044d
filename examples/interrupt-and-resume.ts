// A tool that asks before it acts. The first run ends with the question, and its checkpoint is in a folder; another process
// could answer it. With a key in the environment it calls the real model; without a key, a mocked endpoint.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { call, respond, type ScriptResponse, say } from '@meanwhile/assemble/testing'
import { type Agent, createAgent, interrupt, tool } from '@meanwhile/core'
import { fileStore } from '@meanwhile/stores/file'
import { z } from 'zod'
import { modelOr } from './shared/model.ts'

const folder = mkdtempSync(join(tmpdir(), 'meanwhile-'))

const seats = tool({
  name: 'free_seats',
  description: 'Seats that are free on a flight.',
  input: z.object({ flight: z.string() }),
  effect: 'read',
  execute: ({ flight }) => {
    console.log(`  looking at ${flight}`)
    return ['12A', '12B']
  },
})

const book = tool({
  name: 'book',
  description: 'Books a seat.',
  input: z.object({ seat: z.string() }),
  // It runs again from the beginning after the answer, so it asks before it acts.
  execute: ({ seat }, { answers, attempt }) => {
    console.log(`  book, attempt ${attempt}`)
    if (answers.length === 0) throw interrupt({ question: `Book ${seat} for 120 €?` })
    return answers[0] === 'yes' ? `Booked ${seat}.` : 'The user said no.'
  },
})

/** The same agent in every process; a scripted model returns the rest of its script. */
function travelAgent(...script: readonly ScriptResponse[]): Agent {
  return createAgent({ name: 'travel', model: modelOr(script), tools: [seats, book], checkpoints: fileStore(folder) })
}

try {
  const both = respond(call('free_seats', { flight: 'LH 1' }), call('book', { seat: '12A' }))
  const first = await travelAgent(both).run('Which seats are free on LH 1? And book 12A, at once.')
  if (first.status !== 'interrupted') throw new Error(`it did not ask: ${first.text}`)
  for (const { payload, address } of first.interrupts) console.log(first.status, payload, address)

  // Later, elsewhere: only the ids of the run and of its questions are needed.
  const answers = Object.fromEntries(first.interrupts.map(({ id }) => [id, 'yes']))
  const { result } = travelAgent(respond(say('You are on 12A.'))).resume(first.checkpoint.runId, answers)
  const { status, text } = await result
  console.log(status, text)
} finally {
  rmSync(folder, { recursive: true })
}
