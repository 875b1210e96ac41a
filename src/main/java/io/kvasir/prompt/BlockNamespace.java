package io.kvasir.prompt;

import io.kvasir.index.BlockHash;
import org.jspecify.annotations.Nullable;

/**
 * A namespace of blocks: prompts of one model, one LoRA adapter or none, and one cache salt or none may share blocks.
 *
 * @param id unique to the namespace and the block size
 * @param hash the namespace's block hash function
 * @param blockSize tokens in a block
 */
record BlockNamespace(String id, BlockHash hash, int blockSize) {
  static BlockNamespace of(String model, int blockSize, @Nullable String lora, @Nullable String cacheSalt) {
    // Lengths keep ("a", "bc") and ("ab", "c") apart.
    String adapter = lora == null ? "" : lora;
    String id = model.length() + ":" + model + adapter.length() + ":" + adapter + blockSize + ":"
        + (cacheSalt == null ? "" : cacheSalt);
    return new BlockNamespace(id, BlockHash.in(lora, cacheSalt), blockSize);
  }
}
