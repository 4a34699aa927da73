;;; Exports Org files as Emacs does, for tests/test_tangle_emacs.py: emacs --batch -Q -l tangler.el -- FILE...
;;; What goes wrong with a file is written beside it.
(setq load-no-native t native-comp-enable-subr-trampolines nil make-backup-files nil auto-save-default nil create-lockfiles nil
      enable-local-variables nil coding-system-for-read 'utf-8 coding-system-for-write 'utf-8-unix vc-handled-backends nil
      python-indent-guess-indent-offset nil)
(require 'org) (require 'ob-tangle) (require 'ob-python) (require 'python)
(setq org-inhibit-startup t org-element-use-cache (version<= "9.6" (org-version)) org-mode-hook nil python-mode-hook nil)
(dolist (file (cdr (member "--" command-line-args)))
  (let ((default-directory (file-name-directory file)))
    (condition-case problem (org-babel-tangle-file file)
      (error (with-temp-file (concat file ".error") (insert (format "%S" problem)))))))
(kill-emacs 0)
