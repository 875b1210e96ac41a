/**
 * What a simulated engine is started with. {@link io.kvasir.sim.settings.SimSettings} has all of it, in parts: where it
 * listens and which engine it acts as ({@link io.kvasir.sim.settings.EngineApi}), its model, its size and speed, its
 * events, its host memory, and what goes wrong, with single requests ({@link io.kvasir.sim.settings.InjectedFault}) or
 * with the whole engine ({@link io.kvasir.sim.settings.EngineCondition}).
 *
 * <p>Its builder begins with the defaults of vLLM; {@link io.kvasir.sim.settings.SimSettings#validate} collects the
 * faults of every part ({@code SettingFaults}), by the names of the command line's options. All settings are immutable.
 */
@NullMarked
package io.kvasir.sim.settings;

import org.jspecify.annotations.NullMarked;
