package io.kvasir.doctor.check;

import io.kvasir.doctor.exam.Examination;
import io.kvasir.doctor.exam.HandOverExam;
import io.kvasir.routing.KvTransfer;

/** Whether decode engines receive the KV blocks that prefill engines compute for them. */
final class HandOverCheck extends Check {
  HandOverCheck() {
    super("hand-over", "Does a decode engine receive the KV blocks that each prefill engine computes?");
  }

  @Override
  void examine(Examination examination, FindingCollector found) {
    for (HandOverExam exam : examination.handOvers()) {
      if (exam.failure() != null) {
        found.error(
            exam.from(),
            "%s did not receive the KV blocks that it computed%s: %s"
                .formatted(exam.to(), exam.address() == null ? "" : " (" + exam.address() + ")", exam.failure()),
            "Prompts that it computes are computed again elsewhere, after the seconds for which engines try, or fail.",
            remedy(exam.dialect()));
      }
    }
  }

  private static String remedy(KvTransfer.Dialect dialect) {
    return switch (dialect) {
      case VLLM_NIXL ->
          "Start it with VLLM_NIXL_SIDE_CHANNEL_HOST, the address by which decode engines reach it (localhost unless it"
              + " is set); VLLM_NIXL_SIDE_CHANNEL_PORT and the ports of NIXL have to be open between them.";
      case VLLM_PUSH ->
          "Its kv-transfer needs the host and port of its side channel (VLLM_NIXL_SIDE_CHANNEL_HOST, _PORT) as host and"
              + " bootstrap-port, and its engine_id as engine-id; these ports have to be open between them.";
      case VLLM_MOONCAKE ->
          "Its kv-transfer.bootstrap-port is its VLLM_MOONCAKE_BOOTSTRAP_PORT; that port and those of Mooncake have to"
              + " be open between them.";
      case SGLANG ->
          "Its kv-transfer.bootstrap-port is its --disaggregation-bootstrap-port; that port and those of"
              + " --disaggregation-transfer-backend, the same on both, have to be open between them.";
      case TENSORRT_LLM ->
          "Both need the same cache_transceiver_config, and its ports open between them.";
      case VLLM_P2P ->
          "Its kv-transfer.bootstrap-port is that of its tier of peers, which has to be open between them.";
    };
  }
}
