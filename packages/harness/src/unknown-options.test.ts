import { expect, test } from 'vitest'
import { watchLeaks } from './assert.ts'
import { mockModels, recordModels, replayRecording } from './index.ts'
import { otlpReceiver, spanTree } from './otlp.ts'
import { serveModels, spawnModelServer } from './server.ts'

test.each<[string, string, () => unknown]>([
  ['scripts', 'mockModels; did you mean script?', () => mockModels({ scripts: [] } as object)],
  ['upstreams', 'recordModels; did you mean upstream?', () => recordModels({ upstreams: 'x' } as object)],
  ['speeds', 'replayRecording; did you mean speed?', () => replayRecording('', { speeds: 2 } as object)],
  ['signal', 'watchLeaks; did you mean signals?', () => watchLeaks({ signal: [] } as object)],
  ['attribute', 'spanTree; did you mean attributes?', () => spanTree([], { attribute: [] } as object)],
  ['paces', 'serveModels; did you mean pace?', () => serveModels({ paces: {} } as object)],
  ['paces', 'spawnModelServer; did you mean pace?', () => spawnModelServer({ paces: {} } as object)],
  ['faults', 'otlpReceiver; did you mean fault?', () => otlpReceiver({ faults: 'hang' } as object)],
])('an unknown option %s is a ConfigError: %s (P23)', async (option, hint, make) => {
  const message = `${option}: is not an option of ${hint}`
  await expect(Promise.resolve().then(make)).rejects.toMatchObject({ name: 'ConfigError', option, message })
})

test('the options of a script that a server loads later are checked, too (P23)', async () => {
  const server = await serveModels()
  try {
    await expect(server.load({ script: [], coalese: 0 } as object)).rejects.toThrow('did you mean coalesce?')
  } finally {
    await server.close()
  }
})
