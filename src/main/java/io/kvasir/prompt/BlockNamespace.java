package io.kvasir.prompt;

import io.kvasir.index.BlockHash;
import org.jspecify.annotations.Nullable;

/**
 * Prompts that may share blocks: one model, one LoRA adapter or none, one cache salt or none.
 *
 * @param id tells namespaces apart, block sizes included
 * @param hash hashing in it
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
