import type {
  LanguageModelV2,
  LanguageModelV2CallOptions,
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV4,
  LanguageModelV4CallOptions,
} from '@ai-sdk/provider'
import { expectTypeOf, test } from 'vitest'
import type { AiSdkModel } from './ai-sdk.ts'
import { aiSdk } from './ai-sdk.ts'
import type { CallOptions, V2, V3, V4 } from './ai-sdk-model.ts'

test('the language models of AI SDK 5, 6 and 7 are accepted without conversion', () => {
  expectTypeOf<LanguageModelV2>().toExtend<AiSdkModel>()
  expectTypeOf<LanguageModelV3>().toExtend<AiSdkModel>()
  expectTypeOf<LanguageModelV4>().toExtend<AiSdkModel>()
  expectTypeOf(aiSdk).toBeCallableWith({} as LanguageModelV2 | LanguageModelV3 | LanguageModelV4)
})

test('the request has the types of each version', () => {
  expectTypeOf<CallOptions<V2>>().toExtend<LanguageModelV2CallOptions>()
  expectTypeOf<CallOptions<V3>>().toExtend<LanguageModelV3CallOptions>()
  expectTypeOf<CallOptions<V4>>().toExtend<LanguageModelV4CallOptions>()
})

test('a language model of another version is refused', () => {
  expectTypeOf<
    Omit<LanguageModelV4, 'specificationVersion'> & { specificationVersion: 'v1' }
  >().not.toExtend<AiSdkModel>()
})
