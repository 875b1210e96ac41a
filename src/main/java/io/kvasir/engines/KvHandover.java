package io.kvasir.engines;

import io.kvasir.engines.TransferDescription.Role;
import java.util.Optional;

/**
 * How an engine that is for prefill or for decode only hands KV blocks over, as {@code pods[].kv-transfer} says.
 *
 * @param role what the engine is for
 * @param dialect the router's word for its connector
 * @param transfer what the engine told
 */
public record KvHandover(Role role, String dialect, TransferDescription transfer) {
  /** Of an engine whose role is told or given, by a connector that the router knows; empty for all others. */
  public static Optional<KvHandover> of(SurveyedEngine engine) {
    return of(engine.description());
  }

  static Optional<KvHandover> of(EngineDescription engine) {
    TransferDescription told = engine.transfer();
    if (told == null || told.role() == null) {
      return Optional.empty();
    }
    Role role = told.role();
    return dialect(engine.identity().kind(), told, role).map(dialect -> new KvHandover(role, dialect, told));
  }

  private static Optional<String> dialect(EngineKind kind, TransferDescription told, Role role) {
    return switch (kind) {
      case VLLM, LLM_D_SIMULATOR -> switch (told.connector()) {
        case TransferDescription.NIXL -> Optional.of("vllm-nixl");
        case "MooncakeConnector" -> Optional.of("vllm-mooncake");
        case TransferDescription.PEERS -> Optional.of("vllm-p2p");
        // Whoever takes over has to name the engine that has read the prompt.
        case TransferDescription.NIXL_PUSH ->
            role == Role.DECODE || told.engineId() != null ? Optional.of("vllm-push") : Optional.empty();
        default -> Optional.empty();
      };
      case SGLANG -> Optional.of("sglang");
      case TENSORRT_LLM -> Optional.of("tensorrt-llm");
      case LLAMA_CPP, DYNAMO, UNKNOWN -> Optional.empty();
    };
  }
}
