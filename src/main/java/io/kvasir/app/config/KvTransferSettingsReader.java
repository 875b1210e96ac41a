package io.kvasir.app.config;

import com.fasterxml.jackson.databind.JsonNode;
import com.typesafe.config.Config;
import io.kvasir.cell.PodSpec;
import io.kvasir.routing.KvTransfer;
import io.kvasir.routing.KvTransfer.Dialect;
import io.kvasir.routing.Role;
import java.net.URI;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.function.BiConsumer;
import org.jspecify.annotations.Nullable;

/** Reads how a pod transfers KV blocks, from configuration files and from the admin API. */
final class KvTransferSettingsReader {
  private static final String KEY = "kv-transfer";

  /** The dialects, and that there is none. */
  private enum DialectSetting {
    NONE(null),
    VLLM_NIXL(Dialect.VLLM_NIXL),
    VLLM_PUSH(Dialect.VLLM_PUSH),
    VLLM_MOONCAKE(Dialect.VLLM_MOONCAKE),
    SGLANG(Dialect.SGLANG),
    TENSORRT_LLM(Dialect.TENSORRT_LLM),
    VLLM_P2P(Dialect.VLLM_P2P);

    private final @Nullable Dialect dialect;

    DialectSetting(@Nullable Dialect dialect) {
      this.dialect = dialect;
    }
  }

  private final Config defaults;

  /** Reads over {@code kvasir.pod-defaults}. */
  KvTransferSettingsReader(Config podDefaults) {
    this.defaults = podDefaults.withOnlyPath(KEY);
  }

  /** The settings in a request to the admin API, null for none; faults are reported by their path. */
  @Nullable KvTransfer read(@Nullable JsonNode given, Role role, URI url, BiConsumer<String, String> onFault) {
    List<ConfigFault> faults = new ArrayList<>();
    Config config =
        given == null || given.isNull()
            ? defaults
            : AdminJsonConfig.configuration(KEY, given, faults).withFallback(defaults);
    KvTransfer transfer = read(new ConfigSection(config, "", faults), role, url, false);
    AdminJsonConfig.report(faults, onFault);
    return transfer;
  }

  /** Whether a pod could only hand over to others, and of those that serve its model none can take it. */
  static boolean hasNoPartner(PodSpec pod, List<PodSpec> pods) {
    KvTransfer own = pod.kvTransfer();
    if (own == null || pod.role() != Role.PREFILL) {
      return false;
    }
    List<KvTransfer> takers =
        pods.stream()
            .filter(other -> other.role() == Role.DECODE && !Collections.disjoint(other.models(), pod.models()))
            .map(PodSpec::kvTransfer)
            .filter(Objects::nonNull)
            .toList();
    return !takers.isEmpty() && takers.stream().noneMatch(own::pairsWith);
  }

  /**
   * What stands in a pod's section, laid over the defaults; null when it hands nothing over.
   *
   * @param asked whether the engine will be asked for what is left out
   */
  @Nullable KvTransfer read(ConfigSection pod, Role role, URI url, boolean asked) {
    ConfigSection section = pod.section(KEY);
    Dialect dialect = section.choice("dialect", DialectSetting.class).dialect;
    String host = section.text("host");
    int port = section.count("bootstrap-port", 0, 65_535);
    String engineId = section.text("engine-id");
    int tensorParallel = section.count("tensor-parallel", 1, 1024);
    int pipelineParallel = section.count("pipeline-parallel", 1, 1024);
    String group = section.text("group");
    ConfigSection costs = section.section("link");
    KvTransfer.TransferCost link =
        new KvTransfer.TransferCost(costs.number("us-per-token", 0, 1e6), costs.number("setup-ms", 0, 1e6));
    costs.rejectUnread();
    section.rejectUnread();
    if (dialect == null) {
      if (!asked && (role == Role.PREFILL || role == Role.DECODE)) {
        section.fault(
            "dialect",
            "is missing: a pod whose role is " + (role == Role.PREFILL ? "prefill" : "decode")
                + " works with others only; say how it hands KV blocks over, such as vllm-nixl or sglang");
      }
      return null;
    }
    if (dialect == Dialect.VLLM_PUSH && engineId.isEmpty() && role != Role.DECODE) {
      section.fault("engine-id", "is missing: vllm-push needs the engine_id of the engine's --kv-transfer-config");
    }
    return new KvTransfer(
        dialect,
        group,
        host.isEmpty() ? String.valueOf(url.getHost()) : host,
        port == 0 ? dialect.defaultPort() : port,
        engineId,
        tensorParallel,
        pipelineParallel,
        link);
  }
}
