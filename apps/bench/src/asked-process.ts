/** A process that answers requests from its parent, one after another. */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

export interface AskedProcess<Question, Answer> extends AsyncDisposable {
  /** Rejects if the process ends, whether by itself, by its disposal or by the signal. */
  ask(question: Question): Promise<Answer>
}

export interface ProcessOptions {
  /** Ends the process. */
  readonly signal: AbortSignal
  /** Options for Node. */
  readonly execArgv: readonly string[]
}

export function startProcess<Question extends object, Answer>(
  program: string,
  args: readonly string[],
  { signal, execArgv }: ProcessOptions,
): AskedProcess<Question, Answer> {
  const child = fork(program, [...args], { execArgv: [...execArgv], signal })
  const ended = once(child, 'exit')
  ended.catch(() => undefined)
  return {
    ask: (question) => answerOf<Answer>(child, question),
    async [Symbol.asyncDispose]() {
      child.kill()
      await ended.catch(() => undefined)
    },
  }
}

function answerOf<Answer>(child: ChildProcess, question: object): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const failed = (cause: unknown) => reject(new Error('a process that makes runs has ended', { cause }))
    child.once('exit', failed)
    child.once('error', failed)
    child.once('message', (answer) => {
      child.off('exit', failed)
      child.off('error', failed)
      resolve(answer as Answer)
    })
    child.send(question)
  })
}
