/** The agent of the chat: tools that only read, one that needs approval, and one that runs in the page. */

import { setTimeout as wait } from 'node:timers/promises'
import { contextOf, createAgent, type Run, tool } from '@meanwhile/core'
import { eagerTools } from '@meanwhile/eager-tools'
import { approve, retryModel } from '@meanwhile/middleware'
import { z } from 'zod'
import { demoModel } from '../shared/demo-model.ts'
import { travelTools } from '../shared/demo-tools.ts'
import { type TimesStore, timelines } from './timelines.ts'

/** Whether the tools of a turn may start while the model is still writing: the metadata of the turn, and the context of its runs. */
const Turn = z.object({ early: z.boolean() })
export const contextFrom = ({ metadata }: { readonly metadata?: unknown }) => Turn.parse(metadata ?? { early: true })
const turnOf = contextOf(Turn)
const isEarly = (run: Run) => turnOf(run).early

const sendMail = tool({
  name: 'send_mail',
  description: 'Sends a mail.',
  input: z.object({ to: z.string(), text: z.string() }),
  async execute({ to }, { signal }) {
    console.log(`  a mail to ${to}`)
    await wait(1_000, undefined, { signal })
    return `The mail to ${to} is sent.`
  },
})

const choose = tool({
  name: 'choose',
  description: 'Lets the user choose one of some options.',
  input: z.object({ question: z.string(), options: z.array(z.string()) }),
  output: z.object({ chosen: z.string() }),
})

export const chatAgent = (times: TimesStore) =>
  createAgent({
    name: 'chat',
    instructions:
      'Be brief. Use the tools for flights, weather, hotels and mails, and let the user choose with the tool.',
    model: demoModel(),
    tools: [...travelTools, sendMail, choose],
    middleware: [
      retryModel(),
      approve({ tools: ['send_mail'] }),
      eagerTools({ policy: (_, { run }) => (isEarly(run) ? undefined : 'wait') }),
      timelines(times, isEarly),
    ],
  })
