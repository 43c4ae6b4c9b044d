// An agent with file tools for a real directory, which it cannot leave. It does not see .env, and does not write what Git obeys.

import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { call, respond, say, scriptedModel } from '@meanwhile/assemble/testing'
import { createAgent, textOf } from '@meanwhile/core'
import { filesystem } from '@meanwhile/middleware'
import { directoryBackend } from '@meanwhile/middleware/directory'

const root = await mkdtemp(join(tmpdir(), 'meanwhile-'))
await writeFile(join(root, 'notes.md'), '# Notes\n\nBuy milk.\n')
await writeFile(join(root, '.env'), 'KEY=secret\n')
await symlink('/etc', join(root, 'etc'))

const agent = createAgent({
  model: scriptedModel([
    respond(call('grep', { pattern: 'milk', output: 'content' }), call('read_file', { path: 'notes.md' })),
    respond(call('edit_file', { path: 'notes.md', oldText: 'Buy milk.', newText: 'Buy bread.' })),
    respond(
      call('read_file', { path: '../secret.txt' }),
      call('read_file', { path: 'etc/passwd' }),
      call('read_file', { path: '.env' }),
      call('write_file', { path: '.git/config', content: '[core]' }),
    ),
    respond(say('You buy bread now.')),
  ]),
  middleware: [filesystem({ backend: directoryBackend(root), hide: ['.env'] })],
})

try {
  const { messages, text } = await agent.run('Bread, not milk.')
  for (const message of messages) {
    if (message.role === 'tool') console.log(`${message.name}:\n${textOf(message)}\n`)
  }
  console.log(text)
  console.log(await readFile(join(root, 'notes.md'), 'utf8'))
} finally {
  await rm(root, { recursive: true })
}
