/** The entry point for tests of your own thread store. */
export { type ThreadStoreCase, type ThreadStoreUnderTest, threadStoreContract } from './testing/store-contract.ts'
