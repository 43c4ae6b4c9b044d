/** For stores of threads: the contract that each passes. */
export { type ThreadStoreCase, type ThreadStoreUnderTest, threadStoreContract } from './testing/store-contract.ts'
