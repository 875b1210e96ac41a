package io.kvasir.cell.standby;

/**
 * What a frame carries.
 *
 * @param blocks changes of the prefix's blocks and of the position, as {@link ReplicaWriter} wrote them
 * @param groups changes of a hybrid model's groups, as {@link GroupChangeCodec} did; empty of other models
 */
public record ReplicaChanges(byte[] blocks, byte[] groups) {
  /** Bytes of both. */
  public int size() {
    return blocks.length + groups.length;
  }
}
