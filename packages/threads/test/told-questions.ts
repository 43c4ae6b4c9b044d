/** A question that a turn has told, and whose process ends before its checkpoint is stored. The next attempt asks about another call with the same id. */

import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { type Agent, type CheckpointStore, createAgent, interrupt, type StoredCheckpoint, tool } from '@meanwhile/core'
import { z } from 'zod'
import type { Threads, Turn } from '../src/index.ts'

/** An agent whose tool asks without saying about what. The model writes these amounts, one in each attempt. */
export function asking(...amounts: readonly number[]): { readonly agent: Agent; readonly paid: number[] } {
  const paid: number[] = []
  const pay = tool({
    name: 'pay',
    description: 'p',
    input: z.object({ amount: z.number() }),
    // Nothing is stored before it starts.
    effect: 'read',
    execute({ amount }, { answers }) {
      if (answers.length === 0) interrupt('Really?')
      paid.push(amount)
      return 'paid'
    },
  })
  const pays = amounts.map((amount) => respond(call('pay', { amount }, { id: 'pay_1' })))
  return {
    agent: createAgent({ name: 'main', model: scriptedModel([...pays, respond(say('Done'))]), tools: [pay] }),
    paid,
  }
}

export function hasQuestion(checkpoint: StoredCheckpoint): boolean {
  return 'interrupts' in checkpoint && Array.isArray(checkpoint.interrupts) && checkpoint.interrupts.length > 0
}

/** A store that calls `die` instead of saving the first checkpoint with a question. */
export function dying(store: CheckpointStore, die: () => Promise<void>): CheckpointStore {
  let isDead = false
  return {
    ...store,
    async save(id, checkpoint, expected) {
      const isFirst = !isDead && hasQuestion(checkpoint)
      isDead ||= isFirst
      await (isFirst ? die() : store.save(id, checkpoint, expected))
    },
  }
}

/** The id of the first question that a reader of the turn receives. */
export async function toldIn(turn: Turn): Promise<string> {
  for await (const event of turn.events()) if (event.type === 'question') return event.id
  throw new Error('nothing was asked')
}

/** Answers the question of the event, and then the one that is open. Returns the name of what the first answer has thrown. */
export async function answersOf(threads: Threads<never>, told: string): Promise<unknown> {
  const [open] = (await threads.read('t')).interrupts
  const answer = async (id = '') => await (await threads.answer('t', { [id]: 'yes' })).result
  const refused = await answer(told).catch((error: Error) => error.name)
  await answer(open?.id)
  return refused
}
