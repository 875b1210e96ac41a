package io.kvasir.app.admin;

import static org.assertj.core.api.Assertions.assertThat;

import io.kvasir.doctor.exam.RouterExam.Prompts;
import io.kvasir.http.client.ScriptedPod;
import org.junit.jupiter.api.Test;

final class ExaminedRouterTest {
  /** Blocks of eight tokens are allowed, and tell nothing of how a prompt's tokens were found. */
  @Test
  void prompts_areKnownByTheirText_whereTheRouterSaysSo() throws Exception {
    try (ScriptedPod router = new ScriptedPod((request, out) ->
            out.json(200, request.target().startsWith("/admin/decisions") ? """
                {"decisions":[
                  {"prompt_tokens":40,"block_size":8,"tokens_from":"exact"},
                  {"prompt_tokens":50,"block_size":8,"tokens_from":"engine"},
                  {"prompt_tokens":60,"block_size":8},
                  {"prompt_tokens":7,"block_size":8,"tokens_from":"text"}]}""" : "{}"));
        AdminClient client = new AdminClient(router.url(), null, null)) {
      assertThat(new ExaminedRouter(client).examine().prompts()).isEqualTo(new Prompts(4, 1, 8, 1));
    }
  }
}
