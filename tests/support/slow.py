"""What `make quick` leaves out: the learners that take most of the time, and tests that take a second or two.

The times come from `pytest --durations=0 --durations-min=0.5`.
"""

# The contract tests of learners run for the others.
SLOW_LEARNERS = {
    "acmn", "auto", "bayesian-network", "conditional-mixture", "continuous-mixture", "daclearn",
    "dennis-ventura", "gaclearn", "gaussian-mixture", "hidden-chow-liu", "idspn", "learnspn",
    "mixture-of-trees", "selective",
}  # fmt: skip

# By the files below `tests/`.
SLOW_TESTS = {
    "base/test_checkpoints.py": [
        "test_a_learner_that_was_killed_goes_on_to_the_same_model",
        "test_ctrl_c_stops_every_learner_soon_with_a_model",
    ],
    "base/test_progress.py": [
        "test_workers_of_joblib_report",
    ],
    "circuit/test_joint_leaves.py": [
        "test_a_joint_leaf_integrates_to_one",
        "test_intervals_agree_with_draws_of_the_same_circuit",
    ],
    "circuit/test_leaf_extremes.py": [
        "test_a_piece_is_an_exponential_limited_to_its_interval",
    ],
    "cli/test_bench.py": [
        "test_a_network_is_measured_by_its_pseudo_likelihood_and_its_sampled_answers",
        "test_a_sampled_answer_is_the_mean_over_cells_of_exact_conditionals_where_one_is_free",
        "test_peak_memory_counts_what_was_held_and_given_back",
    ],
    "cli/test_cli.py": [
        "test_every_learner_can_be_called",
    ],
    "cli/test_cli_places.py": [
        "test_no_command_writes_over_what_is_no_file",
    ],
    "cli/test_cli_tune.py": [
        "test_a_killed_search_leaves_its_best_model_and_goes_on",
    ],
    "cli/test_warming.py": [
        "test_a_machine_without_a_cache_is_told_so",
    ],
    "engine/test_engine_compilation.py": [
        "test_every_kernel_is_compiled_once",
        "test_no_question_compiles_more_than_it_needs",
    ],
    "engine/test_engine_tiles.py": [
        "test_the_kernels_mean_the_same_when_they_are_not_compiled",
    ],
    "engine/test_neural.py": [
        "test_a_network_learns_through_a_circuit",
    ],
    "estimators/test_faces.py": [
        "test_an_imputer_stands_before_another_estimator",
        "test_fast_takes_the_learner_that_scores_best",
        "test_iris_is_classified_well",
        "test_scikit_learn_finds_no_fault",
    ],
    "estimators/test_faces_of_models.py": [
        "test_tuning_bagging_and_networks_leave_columns_out",
    ],
    "formats/test_files_kept.py": [
        "test_a_full_disk_at_the_end_of_learning_loses_no_model",
        "test_a_limit_on_file_sizes_is_told_in_one_line",
        "test_a_whole_process_on_such_a_terminal_prints_an_answer_and_a_mistake",
        "test_an_answer_that_does_not_fit_the_disk_is_told_in_one_line",
    ],
    "formats/test_images.py": [
        "test_the_example_completes_digits",
    ],
    "fuzz/test_fuzz.py": [
        "test_random_cases_end_well",
        "test_what_make_runs_starts",
    ],
    "house/test_benchmarks.py": [
        "test_an_iteration_of_every_method_is_timed_beside_a_score",
        "test_classification_is_compared_by_log_loss",
        "test_conditional_expectations_are_timed_beside_marginals",
        "test_densities_are_compared_with_a_gaussian_mixture_chosen_by_bic",
        "test_figure_2_is_drawn_and_its_winner_is_the_highest",
        "test_imputation_is_compared_column_by_column",
        "test_questions_are_answered_by_circuits_and_by_sampled_networks",
        "test_the_growing_circuit_is_timed_and_the_shares_of_a_run_add_up",
        "test_the_start_of_a_command_is_measured_in_an_empty_folder",
    ],
    "house/test_imports.py": [
        "test_learning_imports_neither_formats_nor_queries",
    ],
    "house/test_one_line_conditional.py": [
        "test_the_contract_tests_pick_up_the_example_of_the_page",
    ],
    "house/test_one_line_format.py": [
        "test_the_contract_tests_pick_it_up",
    ],
    "house/test_one_line_leaf.py": [
        "test_the_contract_tests_of_families_pick_it_up",
    ],
    "house/test_one_line_learner.py": [
        "test_the_contract_tests_pick_it_up",
    ],
    "house/test_one_line_query.py": [
        "test_the_contract_tests_pick_it_up",
    ],
    "house/test_portable.py": [
        "test_work_goes_on_without_what_only_posix_has",
    ],
    "learning/conditional/test_cacmn.py": [
        "test_both_ways_to_fit_lead_to_the_same_weights",
        "test_the_circuit_over_targets_scores_as_the_joint_one",
    ],
    "learning/conditional/test_conditional_circuits.py": [
        "test_marginals_of_many_rows_of_inputs_at_once",
        "test_the_most_probable_targets_are_found_for_each_row",
    ],
    "learning/conditional/test_conditional_estimators.py": [
        "test_predictions_for_f1_have_a_higher_f1",
    ],
    "learning/conditional/test_conditional_spn.py": [
        "test_a_hidden_cause_that_follows_an_input_becomes_a_gated_sum",
        "test_few_rows_are_drawn_to_a_generative_model",
    ],
    "learning/conditional/test_dspn_svd.py": [
        "test_strange_tables_give_a_distribution",
    ],
    "learning/conditional/test_gaclearn.py": [
        "test_generalised_circuits_unroll_networks",
    ],
    "learning/conditional/test_hsic.py": [
        "test_an_extension_is_better_than_what_is_printed",
    ],
    "learning/ensembles/test_auto.py": [
        "test_hardly_any_rows_still_give_a_distribution",
        "test_members_learned_side_by_side_give_the_same_model",
        "test_the_command_line_shows_what_was_tried",
    ],
    "learning/growing/test_growing_estimates.py": [
        "test_estimates_are_close_to_what_splits_cost",
    ],
    "learning/joint/test_bayesian_network.py": [
        "test_a_network_too_large_to_compile_is_cut_to_its_first_splits_and_stays_whole_beside",
    ],
    "learning/joint/test_continuous_mixture.py": [
        "test_a_continuous_cause_is_learned_better_than_by_classes_or_trees",
        "test_the_gradient_of_outputs_is_that_of_differences",
    ],
    "learning/joint/test_nasty_tables.py": [
        "test_every_training_row_is_possible_given_its_inputs",
    ],
    "learning/joint/test_selective.py": [
        "test_every_small_tree_can_be_reached_from_every_other",
    ],
    "learning/parameters/test_parameters_entropy.py": [
        "test_a_deterministic_circuit_ends_at_the_best_likelihood_plus_entropy_of_its_rows",
    ],
    "learning/tuning/test_budgets.py": [
        "test_a_budget_is_kept",
    ],
    "learning/tuning/test_tuning.py": [
        "test_the_death_of_a_process_ends_the_search",
    ],
    "networks/test_golden.py": [
        "test_a_network_agrees_with_exact_inference",
    ],
    "queries/test_queries_mpe.py": [
        "test_some_columns_are_completed_and_the_others_summed_out",
    ],
    "queries/test_queries_single.py": [
        "test_the_network_answers_as_enumeration_does",
    ],
}
