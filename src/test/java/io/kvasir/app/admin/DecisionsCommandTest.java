package io.kvasir.app.admin;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import org.junit.jupiter.api.Test;

final class DecisionsCommandTest {
  /** Nothing follows on a refusal: it is not waited for. */
  @Test
  void refusedRequests_areNotUnderWay() throws Exception {
    String table = new DecisionsCommand().format(new ObjectMapper().readTree("""
        {"decisions":[
          {"request_id":"r1","prompt_tokens":9,"refused":"all_full","plan":[],"outcomes":[]},
          {"request_id":"r2","prompt_tokens":9,"plan":[{"worker":"w","cached_tokens":4}],"outcomes":[]}]}"""));

    assertThat(table.lines().filter(line -> line.contains("r1"))).singleElement().asString()
        .contains("none: all_full", "refused").doesNotContain("under way");
    assertThat(table.lines().filter(line -> line.contains("r2"))).singleElement().asString().contains("under way");
  }
}
