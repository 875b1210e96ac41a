package io.kvasir.routing;

/**
 * How a pod hands the KV blocks of a prompt to another pod, or takes them from one. Pods hand over only to pods of
 * the same dialect and group.
 *
 * @param dialect what engine family's way of doing it
 * @param group pods of different groups never work together, however well they could: an island of fast links, a
 *     version of the engine; empty is a group as any other
 * @param host where the pod that takes reaches the one that gives
 * @param bootstrapPort the giver's port that the taker is told, of rank 0: the bootstrap server's (SGLang, Mooncake) or
 *     the side channel's (NIXL push); 0 where the dialect needs none
 * @param engineId the giver's id as its engine was started with, empty where engines say it themselves
 * @param tensorParallel the giver's tensor parallel size, at least 1
 * @param pipelineParallel the giver's pipeline parallel size, at least 1
 * @param link what the way between them costs
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

  /** How an engine family divides a request between two engines. */
  public enum Dialect {
    /** vLLM's NixlConnector: the decode worker pulls, told where by the prefill worker's answer. */
    VLLM_NIXL(false, true, true, 0),
    /** vLLM's NixlPushConnector: the prefill worker pushes to the decode worker that waits. */
    VLLM_PUSH(true, true, true, 5600),
    /** vLLM's MooncakeConnector: both meet at the prefill worker's bootstrap server. */
    VLLM_MOONCAKE(true, true, true, 8998),
    /** SGLang: both meet in a room of the prefill worker's bootstrap server. */
    SGLANG(true, false, false, 8998),
    /** TensorRT-LLM: context first, then generation from what its answer says. */
    TENSORRT_LLM(false, true, false, 0);

    private final boolean concurrent;
    private final boolean decodeCanPrefill;
    private final boolean keepsTransferredBlocks;
    private final int defaultPort;

    Dialect(boolean concurrent, boolean decodeReadsPrompts, boolean keepsTaken, int usualPort) {
      this.concurrent = concurrent;
      this.decodeCanPrefill = decodeReadsPrompts;
      this.keepsTransferredBlocks = keepsTaken;
      this.defaultPort = usualPort;
    }

    /** Whether both legs are sent at once; otherwise decode begins with what prefill's answer says. */
    public boolean concurrent() {
      return concurrent;
    }

    /** Whether a decode worker can do without a prefill worker; SGLang's takes no request that names none. */
    public boolean decodeCanPrefill() {
      return decodeCanPrefill;
    }

    /** Whether a decode worker keeps what it took for later prompts, as its engine comes; its events say it better. */
    public boolean keepsTransferredBlocks() {
      return keepsTransferredBlocks;
    }

    /** The port that engines listen on if nothing else was said, 0 where there is none to know. */
    public int defaultPort() {
      return defaultPort;
    }
  }

  /**
   * What handing over costs: {@code setupMs} and then {@code microsPerToken} for each token of the prompt.
   *
   * @param microsPerToken 0 or more; with 400 Gb/s RDMA about 3 for an 8B model, 8 for a 70B model
   * @param setupMs 0 or more
   */
  public record TransferCost(double microsPerToken, double setupMs) {
    /** Milliseconds until so many tokens' blocks have arrived. */
    public double transferMs(int tokens) {
      return setupMs + tokens * microsPerToken / 1e3;
    }
  }

  /**
   * Those that can work together.
   *
   * @param dialect their way of doing it
   * @param group their group
   */
  public record TransferDomain(Dialect dialect, String group) {}

  /** Whom a pod of this way can work with. */
  public TransferDomain domain() {
    return new TransferDomain(dialect, group);
  }

  /** Whether pods of these two ways can work together. */
  public boolean pairsWith(KvTransfer other) {
    return dialect == other.dialect && group.equals(other.group);
  }
}
