/** An agent of AG-UI for a thread. */

import { HttpAgent } from '@ag-ui/client-59'
import { thread } from './page.ts'

/** The stop buttons of clients abort the run: that stops the turn. */
class ThreadAgent extends HttpAgent {
  override abortRun(): void {
    void fetch(`${this.url}/${this.threadId}/stop`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })
    super.abortRun()
  }
}

export const agent: HttpAgent = new ThreadAgent({ url: '/api/ag-ui', threadId: thread })
