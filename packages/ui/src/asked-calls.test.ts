import type { Json, PendingInterrupt } from '@meanwhile/core'
import { propertyRuns } from '@meanwhile/tests/size'
import { createThreads, memoryThreads, type Threads } from '@meanwhile/threads'
import type { UIMessage } from 'ai'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Client, comparable, serve } from '../test/ag-ui.ts'
import {
  agentOf,
  type Decision,
  decisionAbout,
  program,
  questionsIn,
  tellsEnds,
  WITH_ONE_ID,
} from '../test/asked-programs.ts'
import { compared, type Handler, history, Page, settled } from '../test/page.ts'
import { agUiHandler, toAgUiMessages } from './ag-ui/index.ts'
import { type ChatMetadata, chatHandler, hasAllAnswers } from './ai-sdk/index.ts'

const open = () => undefined

interface Asked {
  readonly id: string
  readonly input: { readonly n: number }
  /** Undefined: the page executes the tool. */
  readonly decision: Decision | undefined
  /** The input of its card when it has its answer. */
  readonly shown: Json
}

function asked({ id, payload }: PendingInterrupt, seed: number): Asked {
  const { type, input } = Object(payload)
  const decision = type === 'tool-call' ? undefined : decisionAbout(input.n, seed)
  return { id, input, decision, shown: decision?.input ?? input }
}

const answerTo = ({ input, decision }: Asked): Json => ({ ...(decision ?? { chosen: input.n }) })

/** The questions that are answered next: all, or one. */
function next(interrupts: readonly PendingInterrupt[], order: readonly number[], seed: number): readonly Asked[] {
  const all = interrupts.map((pending) => asked(pending, seed))
  const place = order[interrupts.length % (order.length || 1)]
  return place === undefined ? all : all.slice(place % all.length, (place % all.length) + 1)
}

/** The text at the end of the result of a payment that was allowed; undefined for all other calls. */
const paid = ({ decision, shown }: Asked) =>
  decision && decision.decision !== 'deny' ? `paid ${Object(shown).n}` : undefined

/** The result of an edited call begins with the input. */
const endingWith = (output: string): string => expect.stringMatching(new RegExp(`${output}$`)) as string

/** The inputs of the payments that must have run. */
const runsOf = (all: readonly Asked[]) =>
  all.flatMap(({ decision, shown }) => (decision && decision.decision !== 'deny' ? [(shown as { n: number }).n] : []))

type Card = Extract<UIMessage['parts'][number], { type: 'dynamic-tool' }>

const cardsOf = (message: UIMessage | undefined): readonly Card[] =>
  (message?.parts ?? []).flatMap((part) => (part.type === 'dynamic-tool' ? [part] : []))

/** The id of the card of a question. */
function cardIdOf(message: UIMessage | undefined, question: string): string {
  const { questions = [] } = Object(message?.metadata) as Partial<ChatMetadata>
  return questions.find(({ id }) => id === question)?.toolCallId ?? ''
}

async function expectCards(page: Page, chat: Handler, threads: Threads): Promise<void> {
  const loaded = await history(chat, 't')
  expect(compared(page.messages)).toEqual(compared(loaded))
  for (const message of [page.messages.at(-1), loaded.at(-1)]) {
    const cards = cardsOf(message)
    for (const { id, payload } of (await threads.read('t')).interrupts) {
      const { type, tool, name = tool, input } = Object(payload)
      const card = cards.findLast(({ toolCallId }) => toolCallId === cardIdOf(message, id))
      const state = type === 'tool-call' ? 'input-available' : 'approval-requested'
      expect(card).toMatchObject({ toolName: name, input, state })
    }
  }
}

const orders = fc.array(fc.nat({ max: 9 }), { maxLength: 4 })
const RUNS = propertyRuns({ small: 2, middle: 3, whole: 3_000 })

test('in useChat the input on a card is that of the question, exactly it runs after allow, and after edit the edited one runs and is shown, live and loaded again (W49, AG7, AG9)', async () => {
  await fc.assert(
    fc.asyncProperty(program, orders, fc.nat({ max: 2 }), async (given, order, seed) => {
      const ran: number[] = []
      const threads = createThreads({ agent: agentOf(given, ran), store: memoryThreads() })
      const chat = chatHandler({ threads, open, edits: true })
      const page = new Page(chat, 't')
      const done: (Asked & { readonly card: string })[] = []
      await page.sendMessage({ text: 'Go' })
      for (let times = 0; (await threads.read('t')).status === 'waiting' && times < 40; times++) {
        await expectCards(page, chat, threads)
        const questions = next((await threads.read('t')).interrupts, order, seed)
        const message = page.messages.at(-1)
        done.push(...questions.map((question) => ({ ...question, card: cardIdOf(message, question.id) })))
        if (order.length > 0 || questions.some(({ decision }) => decision?.decision === 'edit'))
          await page.sendMessage(undefined, {
            body: { answers: Object.fromEntries(questions.map((question) => [question.id, answerTo(question)])) },
          })
        else
          for (const question of questions) {
            const { id, decision } = question
            const toolCallId = cardIdOf(message, id)
            if (decision) await page.addToolApprovalResponse({ id, approved: decision.decision === 'allow' })
            else await page.addToolOutput({ tool: 'choose', toolCallId, output: answerTo(question) })
          }
        await settled(page)
      }
      expect((await threads.read('t')).status).toBe('idle')
      expect(done).toHaveLength(questionsIn(given.steps))
      expect(page.error).toBeUndefined()
      expect(hasAllAnswers(page)).toBe(false)
      expect(new Set(ran)).toEqual(new Set(runsOf(done)))
      expect(ran).toHaveLength(runsOf(done).length)
      const loaded = await history(chat, 't')
      expect(compared(page.messages)).toEqual(compared(loaded))
      for (const question of done) {
        const cards = cardsOf(loaded.at(-1)).filter(({ toolCallId }) => toolCallId === question.card)
        expect(cards.map(({ input }) => input)).toContainEqual(question.shown)
        const outputs = cards.flatMap(({ state, output }) => (state === 'output-available' ? [output] : []))
        const output = paid(question)
        if (question.decision && (output === undefined || tellsEnds(given.steps)))
          expect(outputs).toEqual(output === undefined ? [] : [endingWith(output)])
      }
      await threads.close()
    }),
    { ...RUNS, examples: [0, 1, 2].map((seed) => [WITH_ONE_ID, [seed], seed]) },
  )
})

test('the same in AG-UI: the arguments of each call that asks are those of the question, and exactly these run (W49, AG7, AG9, AG15)', async () => {
  await fc.assert(
    fc.asyncProperty(program, fc.nat({ max: 2 }), async (given, seed) => {
      const ran: number[] = []
      const threads = createThreads({ agent: agentOf(given, ran), store: memoryThreads() })
      const { url, close } = await serve(agUiHandler({ threads, open, edits: true }))
      const client = new Client(`${url}/api/ag-ui`, 't')
      const inThread = async () => comparable([...toAgUiMessages(await threads.read('t'))])
      const inputs = (messages: readonly unknown[]) =>
        new Map(
          messages.flatMap((message) =>
            (Object(message).toolCalls ?? []).map(({ id, input }: Card & { id: string }) => [id, input]),
          ),
        )
      const done: (Asked & { readonly card: string | undefined })[] = []
      try {
        await client.say('Go')
        for (let times = 0; (await threads.read('t')).status === 'waiting' && times < 40; times++) {
          expect(client.messages).toEqual(await inThread())
          const questions = (await threads.read('t')).interrupts.map((pending) => asked(pending, seed))
          const { pendingInterrupts } = client.agent
          const shown = inputs(client.messages)
          for (const { id, toolCallId = '', metadata } of pendingInterrupts)
            expect([id, shown.get(toolCallId)]).toEqual([id, Object(metadata).payload.input])
          const cards = new Map(pendingInterrupts.map(({ id, toolCallId }) => [id, toolCallId]))
          done.push(...questions.map((question) => ({ ...question, card: cards.get(question.id) })))
          if (pendingInterrupts.length > 0)
            await client.run({
              resume: questions.map((question) => {
                const { decision = 'output', input } = question.decision ?? {}
                const approval = { approved: decision !== 'deny', ...(decision === 'edit' && { editedArgs: input }) }
                return {
                  interruptId: question.id,
                  status: 'resolved',
                  payload: question.decision ? approval : answerTo(question),
                }
              }),
            })
          else {
            const last = client.events.at(-1)
            const pending: readonly string[] = Object(last?.outcome).pendingToolCallIds
            for (const [index, toolCallId] of pending.entries()) {
              expect(shown.get(toolCallId)).toEqual(questions[index]?.input)
              const content = JSON.stringify({ chosen: questions[index]?.input.n })
              client.agent.addMessage({ id: `${toolCallId}-${times}`, role: 'tool', toolCallId, content })
            }
            await client.run()
          }
        }
        expect((await threads.read('t')).status).toBe('idle')
        expect(done).toHaveLength(questionsIn(given.steps))
        expect(new Set(ran)).toEqual(new Set(runsOf(done)))
        expect(ran).toHaveLength(runsOf(done).length)
        expect(client.messages).toEqual(await inThread())
        for (const question of done) {
          expect([...inputs(client.messages).values()]).toContainEqual(question.shown)
          const output = paid(question)
          if (output !== undefined && tellsEnds(given.steps))
            expect(client.messages).toContainEqual(
              expect.objectContaining({ role: 'tool', toolCallId: question.card, content: endingWith(output) }),
            )
        }
      } finally {
        await close()
        await threads.close()
      }
    }),
    { ...RUNS, examples: [0, 1, 2].map((seed) => [WITH_ONE_ID, seed]) },
  )
})
