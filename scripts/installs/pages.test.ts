import { expect, test } from 'vitest'
import { packagesOf, pageOf, withTarballs } from './pages.ts'

const PAGE = [
  '# A page, with `npm install openai`',
  '```sh',
  'npm ci',
  'npm install @meanwhile/core zod@4   # version 4',
  'npm i --save-dev tsx',
  '```',
  '```ts',
  "import { tool } from '@meanwhile/core'",
  '```',
  '```ts',
  'tool()',
  '```',
  '',
].join('\n')

test('the install lines of a page are those of its shell blocks, without comments, and those in its text', () => {
  expect(pageOf(PAGE).installs).toEqual([
    'npm install @meanwhile/core zod@4',
    'npm i --save-dev tsx',
    'npm install openai',
  ])
})

test('the programs of a page are its blocks that import one of our packages', () => {
  const code = "import { tool } from '@meanwhile/core'\n"
  expect(pageOf(PAGE).programs).toEqual([{ kind: 'ts', code, name: 'line-8' }])
})

test('the examples of a page are the programs to which it links, each once', () => {
  const text = '[`a`](../examples/a.ts) [b](examples/deep/b-c.tsx) [a](../../examples/a.ts) [server](../examples/chat)'
  expect(pageOf(text).examples).toEqual(['examples/a.ts', 'examples/deep/b-c.tsx'])
})

test('the packages of a program are those of its imports, without those of Node', () => {
  const code = ["'@a/b/c'", "'zod'", "'ai/test'", "'node:fs'", "'./shared/model.ts'"].map(
    (from) => `import { x } from ${from}`,
  )
  expect(packagesOf(code.join('\n'))).toEqual(['@a/b', 'zod', 'ai', '.'])
})

test('packages that are not released come from tarballs, with those on which they depend', () => {
  const tarballs = new Map([
    ['@meanwhile/core', ['/tmp/core.tgz']],
    ['@meanwhile/models', ['/tmp/models.tgz', '/tmp/assemble.tgz']],
  ])
  expect(withTarballs('npm install @meanwhile/core @meanwhile/models @meanwhile/none zod', tarballs)).toBe(
    'npm install /tmp/core.tgz /tmp/models.tgz /tmp/assemble.tgz @meanwhile/none zod',
  )
})
