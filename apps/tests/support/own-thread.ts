/** Threads, for tests that measure what other tests in the same process change: the heap, or the timers of the test runner. */

import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

/**
 * Runs a file in its own thread, and returns the first message that the file posts to `parentPort`. The thread has its own heap, its own
 * compiled code and its own timers. `workerData`: what the file gets under this name.
 */
export async function postedBy(file: URL, workerData?: unknown): Promise<unknown> {
  const thread = new Worker(file, { workerData, execArgv: ['--conditions=@meanwhile/source', '--no-warnings'] })
  try {
    const [message]: readonly unknown[] = await once(thread, 'message')
    return message
  } finally {
    await thread.terminate()
  }
}
