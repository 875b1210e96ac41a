package io.kvasir.routing;

/**
 * A pod's settings for transferring the KV blocks of prompts: as sender (prefill) or receiver (decode), or as one of
 * workers that {@linkplain KvPull pull} what others have cached. Pods transfer only to pods of the same dialect and
 * group.
 *
 * @param dialect the engine family's transfer protocol
 * @param group pods of different groups never transfer to each other: for instance a group per fast network or per
 *     engine version; empty is a group like any other
 * @param host host under which receivers reach this pod
 * @param bootstrapPort the sender's port that the receiver connects to, of rank 0: the bootstrap server's (SGLang,
 *     Mooncake) or the side channel's (NIXL push, peers); 0 where the dialect needs none
 * @param engineId the sender's id as its engine was started with, empty where the engine's answer has it
 * @param tensorParallel the sender's tensor parallel size, at least 1
 * @param pipelineParallel the sender's pipeline parallel size, at least 1
 * @param link cost of the transfer
 */
public record KvTransfer(
    Dialect dialect,
    String group,
    String host,
    int bootstrapPort,
    String engineId,
    int tensorParallel,
    int pipelineParallel,
    TransferCost link) {

  /** An engine family's protocol for prefill and decode on two engines. */
  public enum Dialect {
    /** vLLM's NixlConnector: the decode worker pulls from the address in the prefill worker's answer. */
    VLLM_NIXL(false, true, true, 0),
    /** vLLM's NixlPushConnector: the prefill worker pushes to the waiting decode worker. */
    VLLM_PUSH(true, true, true, 5600),
    /** vLLM's MooncakeConnector: both meet at the prefill worker's bootstrap server. */
    VLLM_MOONCAKE(true, true, true, 8998),
    /** SGLang: both meet in a room of the prefill worker's bootstrap server. */
    SGLANG(true, false, false, 8998),
    /** TensorRT-LLM: the context phase first, then generation with parameters from its answer. */
    TENSORRT_LLM(false, true, false, 0),
    /**
     * vLLM's tier of peers below its offloading to host memory (0.32): the decode worker takes what the prefill worker
     * has stored for it; and a worker that does both pulls from the host memory of any other that the request names.
     */
    VLLM_P2P(false, true, true, 5710);

    private final boolean concurrent;
    private final boolean decodeCanPrefill;
    private final boolean keepsTransferredBlocks;
    private final int defaultPort;

    Dialect(boolean concurrent, boolean decodeCanPrefill, boolean keepsTransferredBlocks, int defaultPort) {
      this.concurrent = concurrent;
      this.decodeCanPrefill = decodeCanPrefill;
      this.keepsTransferredBlocks = keepsTransferredBlocks;
      this.defaultPort = defaultPort;
    }

    /** Whether both requests are sent at once; otherwise decode needs parameters from prefill's answer. */
    public boolean concurrent() {
      return concurrent;
    }

    /** Whether a prefill worker answers only once the decode worker has taken the blocks, which may have to wait. */
    public boolean prefillAwaitsDecode() {
      return this == SGLANG;
    }

    /** Whether a decode worker can compute prompts itself; SGLang's refuses requests that name no prefill worker. */
    public boolean decodeCanPrefill() {
      return decodeCanPrefill;
    }

    /** Whether a decode worker's engine caches received blocks by default; its events are the better source. */
    public boolean keepsTransferredBlocks() {
      return keepsTransferredBlocks;
    }

    /** Whether workers that read prompts and generate pull blocks from each other. */
    public boolean pulls() {
      return this == VLLM_P2P;
    }

    /** The engines' default bootstrap port, 0 where there is none. */
    public int defaultPort() {
      return defaultPort;
    }
  }

  /**
   * The time a transfer takes: {@code setupMs} and then {@code microsPerToken} for each token of the prompt.
   *
   * @param microsPerToken 0 or more; with 400 Gb/s RDMA about 3 for an 8B model, 8 for a 70B model
   * @param setupMs 0 or more
   */
  public record TransferCost(double microsPerToken, double setupMs) {
    /** Milliseconds to transfer the blocks of {@code tokens} tokens. */
    public double transferMs(int tokens) {
      return setupMs + tokens * microsPerToken / 1e3;
    }
  }

  /**
   * The pods that can transfer KV blocks to each other.
   *
   * @param dialect their protocol
   * @param group their group
   */
  public record TransferDomain(Dialect dialect, String group) {}

  /** The transfer domain of a pod with these settings. */
  public TransferDomain domain() {
    return new TransferDomain(dialect, group);
  }

  /** Whether pods with these and the other settings can transfer to each other. */
  public boolean pairsWith(KvTransfer other) {
    return dialect == other.dialect && group.equals(other.group);
  }

  /** The host as engines write it in JSON: an IPv6 address without brackets. */
  public String bareHost() {
    return host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
  }
}
