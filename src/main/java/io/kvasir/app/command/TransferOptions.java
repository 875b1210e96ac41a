package io.kvasir.app.command;

import io.kvasir.routing.Role;
import io.kvasir.sim.settings.EngineApi;
import io.kvasir.sim.transfer.TransferDialect;
import io.kvasir.sim.transfer.TransferSettings;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** The options of {@code kvasir sim} for transfers of KV blocks, and of encoders' results, between engines. */
final class TransferOptions {
  @Option(
      names = "--dialect",
      description = {
        "How KV moves between prefill and decode engines: none, vllm-nixl, vllm-nixl-old, vllm-push,",
        "vllm-mooncake, vllm-p2p, sglang, tensorrt-llm. Default: with --role prefill or decode that of --act-as,",
        "vllm-nixl if that is vLLM, else none."
      })
  private @Nullable String dialect;

  @Option(
      names = "--transfer-port",
      description = {
        "Port of the side channel or bootstrap server; 0 for a free one. Default: a free one, but where no engine",
        "announces it, that of real engines: vllm-mooncake 8998, vllm-push 5600, unless the role is decode."
      })
  private @Nullable Integer transferPort;

  @Option(names = "--engine-id", description = "Id towards other engines; default: a new one at every start.")
  private @Nullable String engineId;

  @Option(names = "--kv-transfer-gbps", defaultValue = "100", description = "Gigabits a second between engines.")
  private double gbps;

  @Option(names = "--kv-lease-ms", description = "How long blocks are kept for others; default: the dialect's.")
  private @Nullable Long leaseMs;

  @Option(names = "--kv-watchdog-ms", description = "How long a leg waits for its sibling; default: the dialect's.")
  private @Nullable Long watchdogMs;

  @Option(
      names = "--kv-load-failure-policy",
      defaultValue = "fail",
      description = "What a failed transfer comes to: fail or recompute.")
  private String loadFailurePolicy = "";

  @Option(
      names = "--encoder-dir",
      description = "Directory where encoders leave what they made of images and others find it.")
  private @Nullable Path encoderDirectory;

  /**
   * The settings of an engine.
   *
   * @param api the engine that it is to act as; null where that was not given
   */
  TransferSettings settings(Role role, @Nullable EngineApi api, List<String> wrong) {
    boolean divided = role == Role.PREFILL || role == Role.DECODE;
    TransferDialect chosen =
        !divided ? TransferDialect.NONE : api == null ? TransferDialect.VLLM_NIXL : api.usualDialect();
    if (dialect != null) {
      String name = dialect;
      chosen =
          Arrays.stream(TransferDialect.values()).filter(known -> known.toString().equals(name)).findFirst()
              .orElse(chosen);
      if (!chosen.toString().equals(name)) {
        wrong.add("dialect: '" + name + "' is not known; one of "
            + Arrays.stream(TransferDialect.values()).map(TransferDialect::toString).collect(Collectors.joining(", ")));
      }
    }
    if (!loadFailurePolicy.equals("fail") && !loadFailurePolicy.equals("recompute")) {
      wrong.add("kv-load-failure-policy: must be fail or recompute, is '" + loadFailurePolicy + "'");
    }
    return new TransferSettings(
        chosen,
        transferPort == null ? chosen.assumedPort(role) : transferPort,
        engineId,
        gbps,
        leaseMs == null ? null : Duration.ofMillis(leaseMs),
        watchdogMs == null ? null : Duration.ofMillis(watchdogMs),
        loadFailurePolicy.equals("recompute"),
        encoderDirectory);
  }
}
